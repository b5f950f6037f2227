// SPDX-License-Identifier: MIT
package io.github.bloomfile;

/** The layouts of a filter's bits: section 6 of the specification, field {@code layout}. */
public enum Layout {
    /** All bits of a key in a block of 512 bits: one memory access for each lookup. The default. */
    BLOCKED(1),
    /** Bits anywhere: the fewest bits of the Bloom layouts, k accesses to memory. */
    CLASSIC(2),
    /** Counters of four bits in place of bits, so that keys can be removed. */
    COUNTING(3),
    /** A ribbon filter: about a third smaller than blocked, made once of all keys. */
    RIBBON(4);

    private static final Layout[] OF = values();
    private final int number;

    Layout(int number) {
        this.number = number;
    }

    /**
     * Returns the number of the layout in headers.
     *
     * @return 1 to 4
     */
    public int number() {
        return number;
    }

    /** The layout of a number in a header, or null if it is unknown. */
    static Layout of(int number) {
        return number >= 1 && number <= OF.length ? OF[number - 1] : null;
    }

    /** Returns whether m must be a multiple of 512: blocks, or lines. */
    boolean hasBlocks() {
        return this == BLOCKED || this == RIBBON;
    }

    /** The bytes that m bits (counters) need: section 11. m is 1 to 2^60. */
    long need(long m) {
        return this == COUNTING ? m / 2 + m % 2 : m / 8 + (m % 8 != 0 ? 1 : 0);
    }

    /** The size of a body for m: {@link #need} rounded up as the form of the image wants it. */
    long bodySize(long m, int headerSize) {
        long unit = headerSize == Header.FILE ? 4096 : 64;
        return (need(m) + unit - 1) / unit * unit;
    }
}
