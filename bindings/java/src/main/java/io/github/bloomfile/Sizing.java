// SPDX-License-Identifier: MIT
package io.github.bloomfile;

/**
 * The choice of m and k: sizes.md of the specification. Rates are computed by + - * / alone, in the order of the C
 * library, so that they are equal to the last digit.
 */
final class Sizing {
    /** Rates that differ by less are equal. */
    private static final double MARGIN = 0x1p-26;
    /** Highly composite numbers: m (blocked: N) is a multiple of one, so that a filter folds in many ways. */
    private static final long[] COMPOSITE = {1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520,
        5040, 7560, 10080, 15120, 20160, 25200, 27720, 45360, 50400, 55440, 83160, 110880, 166320, 221760, 277200, 332640,
        498960, 554400, 665280, 720720};
    /** Rounding up to such a multiple makes a filter larger by at most 1 / PART. */
    private static final long PART = 200;

    /** After so many k that need no fewer cells the search ends. */
    private static final int IN_VAIN = 3;

    final long m;
    final int k;

    private Sizing(long m, int k) {
        this.m = m;
        this.k = k;
    }

    /**
     * The size for a number of keys and a rate.
     *
     * @param k the number of positions, or 0 for the best
     * @throws BloomfileException EUNREACHABLE: no size will do
     */
    static Sizing of(Layout layout, long n, double fpr, int k) throws BloomfileException {
        long unit = unit(layout);
        long most = Header.MAX_BITS / unit;
        long best = most + 1;
        int hashes = 0;
        int last = fpr <= sameDigest(n) ? 0 : k != 0 ? k : Header.MAX_HASHES;
        for (int i = Math.max(k, 1); i <= last && (hashes == 0 || i <= hashes + IN_VAIN); i++) {
            long units = smallest(layout, n, fpr, i, best - 1);
            if (units < best) {
                best = units;
                hashes = i;
            }
        }
        if (hashes == 0) {
            throw new BloomfileException(ErrorCode.EUNREACHABLE, "plan a filter of " + n + " keys",
                    "a rate of " + fpr);
        }
        return new Sizing(rounded(best, most) * unit, hashes);
    }

    /** The size for a given number of bits, which is rounded up where blocks need it; k may be 0 for the best. */
    static Sizing given(Layout layout, long bits, int k, long n) {
        long m = layout.hasBlocks() ? (bits + 511) / 512 * 512 : bits;
        return new Sizing(m, layout == Layout.RIBBON ? 0 : k != 0 ? k : bestHashes(layout, m, n));
    }

    /** The unit of sizes: blocks or cells. */
    private static long unit(Layout layout) {
        return layout == Layout.BLOCKED ? 512 : 1;
    }

    /** The smallest number of blocks (cells) that keeps the rate; one above {@code limit} if that is too few. */
    private static long smallest(Layout layout, long n, double fpr, int k, long limit) {
        long unit = unit(layout);
        double most = fpr * (1 + MARGIN);
        if (limit == 0 || rate(layout, limit * unit, n, k) > most) {
            return limit + 1;
        }
        long high = limit;
        while (high > 1 && rate(layout, high / 2 * unit, n, k) <= most) {
            high /= 2;
        }
        long low = high / 2;
        while (high - low > 1) {
            long middle = low + (high - low) / 2;
            if (rate(layout, middle * unit, n, k) > most) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return high;
    }

    /** The next multiple of the greatest highly composite number, or 2^i times the last of them, that is near enough. */
    static long rounded(long cells, long most) {
        int i = COMPOSITE.length - 1;
        long last = COMPOSITE[i];
        long step = last;
        while (step <= cells) {
            step *= 2;
        }
        while (true) {
            long multiple = (cells + step - 1) / step * step;
            if (multiple - cells <= cells / PART && multiple <= most) {
                return multiple;
            }
            step = step > last ? step / 2 : COMPOSITE[--i];
        }
    }

    /** The k that gives the lowest rate. */
    static int bestHashes(Layout layout, long m, long n) {
        int best = 0;
        double lowest = 2;
        for (int k = 1; k <= Header.MAX_HASHES && (best == 0 || k <= best + IN_VAIN); k++) {
            double rate = rate(layout, m, n, k);
            if (rate < lowest * (1 - MARGIN)) {
                lowest = rate;
                best = k;
            }
        }
        return best;
    }

    /** The false-positive rate to expect of n distinct keys. */
    static double rate(Layout layout, long m, long n, int k) {
        double rate = layout == Layout.BLOCKED ? BlockRate.rate(m / 512, n, k) : CellRate.rate(m, n, k);
        return Math.min(1, rate + (1 - rate) * sameDigest(n));
    }

    /** The chance that the digest of an absent key is the digest of a key in the set of n keys. */
    private static double sameDigest(long n) {
        return n * 0x1p-64;
    }
}
