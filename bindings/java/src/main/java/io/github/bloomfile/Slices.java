// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.math.BigInteger;
import java.nio.channels.Channels;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Building one filter on many machines: each builds a {@link Params#slice slice} from the digests of a range, and
 * {@link #join} concatenates them. Only for the blocked layout. All methods are thread-safe.
 */
public final class Slices {
    /** The most slices of one filter. */
    public static final int MAX = 65536;
    private static final int BUFFER = 1 << 20;

    private Slices() {
    }

    /** The stretch of a filter that a slice is. */
    public static final class Range {
        /** The first block of 512 bits. */
        public final long firstBlock;
        /** The number of blocks. */
        public final long blocks;
        /** The lowest digest that belongs to it, as an unsigned number. */
        public final long lowest;
        /** The highest digest that belongs to it, as an unsigned number. */
        public final long highest;

        private Range(long firstBlock, long blocks, long wholeBlocks) {
            this.firstBlock = firstBlock;
            this.blocks = blocks;
            lowest = lowestOf(firstBlock, wholeBlocks);
            highest = lowestOf(firstBlock + blocks, wholeBlocks) - 1;
        }

        /** The lowest digest of a block: 2^64, which is 0 here, after the last block. */
        private static long lowestOf(long block, long wholeBlocks) {
            BigInteger[] division = BigInteger.valueOf(block).shiftLeft(64).divideAndRemainder(BigInteger.valueOf(wholeBlocks));
            return division[0].longValue() + division[1].signum();
        }
    }

    /**
     * The size m of the whole filter that parameters describe, which {@link #sliceOf} and {@link #range} take.
     *
     * @param params layout blocked, with {@link Params#capacity}; {@link Params#slice} has no influence
     * @return bits, a multiple of 512
     * @throws BloomfileException as the constructor of {@link Builder}
     */
    public static long bits(Params params) throws BloomfileException {
        Params whole = new Params(params);
        whole.slices = 0;
        whole.check();
        if (whole.layout != Layout.BLOCKED || whole.capacity == 0) {
            throw new BloomfileException(ErrorCode.EVALUE, "cut slices", "the layout blocked and a capacity are needed");
        }
        return Planner.size(whole, 0).m;
    }

    /**
     * Returns the slice that a digest belongs to. It increases with the digest, as an unsigned number.
     *
     * @param bits the size m of the whole filter, not of a slice: {@link #bits}
     * @param slices how many there are
     * @param digest any number, made with the filter's seed
     * @return from 0 on
     * @throws IllegalArgumentException if no filter of this size has so many slices
     */
    public static int sliceOf(long bits, int slices, long digest) {
        long pages = pages(bits, slices);
        if (pages == 0) {
            throw new IllegalArgumentException("a filter of " + bits + " bits cannot have " + slices + " slices");
        }
        long page = Xxh3.mulhi(digest, bits / 512) / 64;
        return (int) (((page + 1) * slices - 1) / pages);
    }

    /**
     * The blocks and digests of a slice.
     *
     * @param bits the size m of the whole filter
     * @param slices how many there are
     * @param slice from 0 on
     * @return its blocks and digests
     * @throws BloomfileException EVALUE: the slice does not exist
     */
    public static Range range(long bits, int slices, int slice) throws BloomfileException {
        long pages = pages(bits, slices);
        if (pages == 0 || slice < 0 || slice >= slices) {
            throw new BloomfileException(ErrorCode.EVALUE, "cut slice " + slice + " of " + slices,
                    "the filter has " + bits / 512 + " blocks of 512 bits, and a slice at least 64 of them");
        }
        long first = pages * slice / slices * 64;
        long end = Math.min(bits / 512, pages * (slice + 1) / slices * 64);
        return new Range(first, end - first, bits / 512);
    }

    /** Returns the number of pages of a filter that can have {@code slices} slices, or 0. */
    private static long pages(long bits, int slices) {
        long pages = (bits / 512 + 63) / 64;
        boolean can = bits > 0 && bits % 512 == 0 && slices >= 1 && slices <= MAX && slices <= pages;
        return can ? pages : 0;
    }

    /**
     * Joins all slices of a filter to the file that one build of all keys would have made, byte for byte. Each is verified
     * as it passes by.
     *
     * @param dst the file, which appears complete and on disk, or not at all
     * @param slices the files, in any order
     * @param options options beyond the default
     * @throws BloomfileException EINCOMPLETE: they are not all slices of one filter, or not each of them once; or one left
     *     out keys, and they were not all made from the same keys ({@link WriteOption#ACCEPT_INCOMPLETE} joins them all the
     *     same); EPAGE or EBODY: one is damaged; or one cannot be opened
     * @throws IOException if reading or writing fails
     */
    public static void join(Path dst, List<Path> slices, WriteOption... options) throws IOException {
        List<SliceSource> sources = new ArrayList<>();
        for (Path slice : slices) {
            sources.add(SliceSource.of(slice));
        }
        try (NewFile file = new NewFile(dst, options)) {
            OutputStream out = new BufferedOutputStream(Channels.newOutputStream(file.channel()), BUFFER);
            boolean keys = joinTo(out, sources, options);
            out.flush();
            file.publish(keys);
        }
    }

    /**
     * Joins all slices of a filter in any file system. If this throws, discard the output: a page is found to be
     * damaged only when it passes by. Takes 4 bytes of memory for each page of the filter.
     *
     * @param out takes the filter from its first byte to its last, without seeking; neither closed nor flushed
     * @param slices the slices, in any order
     * @param options options beyond the default: {@link WriteOption#ACCEPT_INCOMPLETE}
     * @throws BloomfileException as {@link #join(Path, List, WriteOption...)}
     * @throws IOException if reading or writing fails
     */
    public static void join(OutputStream out, List<? extends SliceSource> slices, WriteOption... options) throws IOException {
        joinTo(out, slices, options);
    }

    private static boolean joinTo(OutputStream out, List<? extends SliceSource> slices, WriteOption[] options)
            throws IOException {
        SliceJoin join = new SliceJoin(slices, options);
        join.write(out);
        return join.whole.n != 0;
    }
}
