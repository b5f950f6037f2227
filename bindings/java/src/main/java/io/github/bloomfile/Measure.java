// SPDX-License-Identifier: MIT
package io.github.bloomfile;

/** Counts the bits of a body, from which its real rate and the number of its keys follow. */
final class Measure {
    private static final int BITS = 512;

    private final Layout layout;
    private final long m;
    private final int k;
    private long ones;
    /** Layout blocked: the number of blocks with this number of one bits. */
    private final long[] blocks = new long[BITS + 1];
    private long counted;

    Measure(Layout layout, long m, int k) {
        this.layout = layout;
        this.m = m;
        this.k = k;
    }

    /** The next page, of 4096 bytes. */
    void page(byte[] page) {
        for (int block = 0; block < Header.PAGE; block += BITS / 8) {
            int inBlock = 0;
            for (int i = block; i < block + BITS / 8; i += 8) {
                inBlock += Long.bitCount(Header.u64(page, i));
            }
            ones += inBlock;
            if (layout == Layout.BLOCKED && counted < m / BITS) {
                blocks[inBlock]++;
                counted++;
            }
        }
    }

    /** The false-positive rate, exactly. */
    double rate() {
        if (layout != Layout.BLOCKED) {
            return Math.pow((double) ones / m, k);
        }
        double sum = 0;
        for (int x = 1; x <= BITS; x++) {
            sum += blocks[x] * Math.pow((double) x / BITS, k);
        }
        return sum / (m / BITS);
    }

    /** The standard error of the rate. */
    double chance() {
        if (layout != Layout.BLOCKED) {
            double fill = (double) ones / m;
            return ones == 0 ? 0 : rate() * k * Math.sqrt((1 - fill) / fill / m);
        }
        double squares = 0;
        for (int x = 1; x <= BITS; x++) {
            squares += blocks[x] * Math.pow((double) x / BITS, 2 * k);
        }
        double n = (double) m / BITS;
        double rate = rate();
        return Math.sqrt(Math.max(0, squares / n - rate * rate) / n);
    }

    /** The number of keys, estimated from the one bits. If all bits are one, as if one bit were zero. */
    double keys() {
        double empty = Math.log1p(-(double) Math.min(ones, m - 1) / m);
        if (layout != Layout.BLOCKED) {
            return empty / (k * Math.log1p(-1.0 / m));
        }
        double hit = -Math.expm1(k * Math.log1p(-1.0 / BITS));
        return -empty * (m / BITS) / hit;
    }
}
