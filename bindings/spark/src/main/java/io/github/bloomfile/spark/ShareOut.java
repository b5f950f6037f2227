// SPDX-License-Identifier: MIT
package io.github.bloomfile.spark;

import io.github.bloomfile.Slices;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.api.java.function.PairFlatMapFunction;
import scala.Tuple2;

/**
 * The map side: the keys of a partition become digests, and these go to the slice to which they belong, packed into
 * chunks of 8 bytes a digest, little-endian. So a shuffle moves few large records and not many small ones.
 *
 * @param <K> type of the keys
 */
final class ShareOut<K> implements PairFlatMapFunction<Iterator<K>, Integer, byte[]> {
    private static final long serialVersionUID = 1;
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    /** Sizes in bytes: the largest chunk, all chunks that a task fills at a time, and the smallest chunk. */
    private static final int CHUNK = 64 << 10;
    private static final int ALL_CHUNKS = 16 << 20;
    private static final int SMALLEST = 4 << 10;

    /** Digests of which a task remembers the latest, to drop what repeats soon: a power of two; half a MiB. */
    private static final int RECENT = 1 << 16;

    private final KeyHash<K> hash;
    private final int slices;
    private final long bits;

    ShareOut(KeyHash<K> hash, int slices, long bits) {
        this.hash = hash;
        this.slices = slices;
        this.bits = bits;
    }

    @Override
    public Iterator<Tuple2<Integer, byte[]>> call(Iterator<K> keys) {
        return new Chunks(keys);
    }

    private final class Chunks implements Iterator<Tuple2<Integer, byte[]>> {
        private final Iterator<K> keys;
        private final int chunk = Math.max(Math.min(CHUNK, ALL_CHUNKS / slices), SMALLEST) & -8;
        private final byte[][] buckets = new byte[slices][];
        private final int[] used = new int[slices];
        private final long[] recent = new long[RECENT];
        private int flushed;
        private Tuple2<Integer, byte[]> ready;

        Chunks(Iterator<K> keys) {
            this.keys = keys;
            // No digest equals what its place holds at first.
            for (int i = 0; i < RECENT; i++) {
                recent[i] = ~i;
            }
        }

        @Override
        public boolean hasNext() {
            while (ready == null && keys.hasNext()) {
                add(hash.digest(keys.next()));
            }
            while (ready == null && flushed < slices) {
                if (used[flushed] > 0) {
                    ready = new Tuple2<>(flushed, Arrays.copyOf(buckets[flushed], used[flushed]));
                    buckets[flushed] = null;
                }
                flushed++;
            }
            return ready != null;
        }

        @Override
        public Tuple2<Integer, byte[]> next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            Tuple2<Integer, byte[]> result = ready;
            ready = null;
            return result;
        }

        private void add(long digest) {
            int place = (int) digest & (RECENT - 1);
            if (recent[place] == digest) {
                return;
            }
            recent[place] = digest;
            int slice = Slices.sliceOf(bits, slices, digest);
            byte[] bucket = buckets[slice];
            if (bucket == null) {
                bucket = buckets[slice] = new byte[Math.min(chunk, 512)];
            } else if (used[slice] == bucket.length) {
                bucket = buckets[slice] = Arrays.copyOf(bucket, Math.min(chunk, 4 * bucket.length));
            }
            LONG.set(bucket, used[slice], digest);
            used[slice] += 8;
            if (used[slice] == chunk) {
                ready = new Tuple2<>(slice, bucket);
                buckets[slice] = null;
                used[slice] = 0;
            }
        }
    }
}
