// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A set of digests in a range, added in any order, with repetitions. They are partitioned by their top bits into at
 * most {@link #PARTS} parts, in runs of {@link #RUN}. Runs that exceed the memory limit go to a temporary file.
 */
final class Digests implements Closeable {
    /** Takes distinct digests in ascending order, some at a time. */
    interface Sink {
        void accept(long[] digests, int count) throws IOException;
    }

    static final int PARTS = 1024;
    private static final int RUN = 512;
    private static final int FIRST = 16;
    /** Runs in one array of memory: 1 MiB. */
    private static final int CHUNK = (1 << 20) / (8 * RUN);
    private static final int RECENT = 2048;
    private static final int NONE = -1;

    /** All that were added, repetitions and those outside the range included. */
    private long read;
    private long elsewhere;
    private long sum;

    private final long lowest;
    private final long span;
    private final int shift;
    private final Path folder;

    /** For each part, the digests that do not fill a run yet, as distances from the lowest. */
    private final long[][] open;
    private final int[] counts;
    /** The last run of each part, and of each run the one before in its part. */
    private final int[] last;
    private int[] before = new int[64];
    private int runs;
    private final int runsInMemory;
    private final long[][] chunks;
    private Spool spool;
    /** Recent digests: a repetition of one is dropped immediately, so that a very frequent key takes no memory. */
    private final long[] recent = new long[RECENT];

    /**
     * An empty set.
     *
     * @param lowest the lowest digest of the range
     * @param highest the highest
     * @param memory bytes that runs may take in memory
     * @param folder where the temporary file goes
     */
    Digests(long lowest, long highest, long memory, Path folder) {
        this.lowest = lowest;
        span = highest - lowest;
        shift = Math.max(0, 64 - Long.numberOfLeadingZeros(span) - Integer.numberOfTrailingZeros(PARTS));
        this.folder = folder;
        int parts = (int) (span >>> shift) + 1;
        open = new long[parts][];
        counts = new int[parts];
        last = new int[parts];
        Arrays.fill(last, NONE);
        int chunksInMemory = (int) Math.min(memory >>> 20, 1 << 20);
        chunks = new long[chunksInMemory][];
        runsInMemory = chunksInMemory * CHUNK;
        recent[0] = 1; // no digest here is its own neighbour: 0 belongs to place 0, 1 does not
    }

    /** Adds digests; those that are not in the range are left out. */
    void add(long[] digests, int off, int len) throws IOException {
        for (int i = off; i < off + len; i++) {
            add(digests[i]);
        }
    }

    /** Adds a digest, if it is in the range. */
    void add(long digest) throws IOException {
        long distance = digest - lowest;
        read++;
        sum += digest;
        if (distance + Long.MIN_VALUE > span + Long.MIN_VALUE) {
            elsewhere++;
            return;
        }
        int place = (int) digest & RECENT - 1;
        if (recent[place] == digest) {
            return;
        }
        recent[place] = digest;
        int part = (int) (distance >>> shift);
        long[] numbers = open[part];
        int count = counts[part];
        if (numbers == null || count == numbers.length) {
            numbers = room(part);
            count = counts[part];
        }
        numbers[count] = distance;
        counts[part] = count + 1;
    }

    /** Records in the header of a slice which digests it was given. */
    void describeInput(Header h) {
        h.keysRead = read;
        h.keysElsewhere = elsewhere;
        h.digestSum = sum;
    }

    /** Makes room for another digest in a part. */
    private long[] room(int part) throws IOException {
        long[] numbers = open[part];
        if (numbers == null) {
            open[part] = new long[FIRST];
        } else if (numbers.length < RUN) {
            open[part] = Arrays.copyOf(numbers, Math.min(RUN, 4 * numbers.length));
        } else {
            keep(part, numbers);
            counts[part] = 0;
        }
        return open[part];
    }

    private void keep(int part, long[] numbers) throws IOException {
        if (runs < runsInMemory) {
            int chunk = runs / CHUNK;
            if (chunks[chunk] == null) {
                chunks[chunk] = new long[CHUNK * RUN];
            }
            System.arraycopy(numbers, 0, chunks[chunk], runs % CHUNK * RUN, RUN);
        } else {
            if (spool == null) {
                spool = new Spool(folder, RUN);
            }
            spool.append(numbers);
        }
        if (runs == before.length) {
            before = Arrays.copyOf(before, Math.multiplyExact(2, runs));
        }
        before[runs] = last[part];
        last[part] = runs++;
    }

    /** Hands over all distinct digests in ascending order. May be called again, and gives the same. */
    void forEach(Sink sink) throws IOException {
        DigestSorter sorter = new DigestSorter(shift);
        for (int part = 0; part < open.length; part++) {
            sorter.begin();
            for (int run = last[part]; run != NONE; run = before[run]) {
                long[] into = sorter.room(RUN);
                if (run < runsInMemory) {
                    System.arraycopy(chunks[run / CHUNK], run % CHUNK * RUN, into, sorter.count, RUN);
                } else {
                    spool.read(run - runsInMemory, into, sorter.count);
                }
                sorter.count += RUN;
            }
            if (counts[part] > 0) {
                System.arraycopy(open[part], 0, sorter.room(counts[part]), sorter.count, counts[part]);
                sorter.count += counts[part];
            }
            sorter.sort();
            if (sorter.count > 0) {
                sink.accept(sorter.shifted(lowest), sorter.count);
            }
        }
    }

    /** The number of distinct digests. */
    long count() throws IOException {
        long[] sum = new long[1];
        forEach((digests, count) -> sum[0] += count);
        return sum[0];
    }

    /** Returns whether all can be read: no interrupt has closed the temporary file. */
    boolean isThere() {
        return spool == null || spool.isOpen();
    }

    @Override
    public void close() throws IOException {
        if (spool != null) {
            spool.close();
        }
    }
}
