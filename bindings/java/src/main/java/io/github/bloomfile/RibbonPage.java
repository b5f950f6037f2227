// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.util.Arrays;

/**
 * Solves a page of the ribbon layout from its digests: ribbon.md 5. A row of the system has its coefficients in 64
 * consecutive slots, and adding rows to one another preserves that.
 */
final class RibbonPage {
    private static final long C = BlockedFill.C;
    private static final long D = 0xD1B54A32D192ED03L;
    private static final long COEFFICIENTS = 0x8CB92BA72F3D8DD7L;
    private static final int SEEDS = 16;
    /** Slots of a group. */
    private static final int SLOTS = 32;
    private static final int MAX_COLUMNS = 32;

    /** The row that leads to each slot, whose bit 0 is that slot, and its right sides; 0 without a row. */
    private final long[] rows = new long[SLOTS * Header.PAGE / 8 + 64];
    private final int[] rights = new int[rows.length];
    private final int[] loads = new int[Header.PAGE / 8];

    /** The shape of a page: 0 groups if it is not solved. */
    int groups;
    private int seed;
    private int words;

    /** The most keys that a page of 64 lines can be solved for; with more only their number counts. */
    static int mostKeys() {
        return Header.PAGE / 8 * 1280 / 41 + 1;
    }

    /**
     * Makes a page.
     *
     * @param digests distinct digests, {@link #mostKeys} at least if there are more
     * @param n how many there are
     * @param lines 1 to 64
     * @param page takes 64 bytes a line
     * @throws BloomfileException EBODY: a key would be answered with no, which must not be
     */
    void make(long[] digests, long n, int lines, byte[] page) throws BloomfileException {
        words = 16 * lines - 2;
        Arrays.fill(page, 0, 64 * lines, (byte) 0);
        if (solve(digests, n)) {
            write(page);
        } else {
            groups = 0;
            seed = 0;
        }
        long keys = Math.min(n, 0xFFFFFFFFL);
        Header.LONG.set(page, 0, groups | (long) seed << 16 | keys << 32);
        for (int i = 0; groups != 0 && i < n; i++) {
            if (!mayContain(digests[i], page)) {
                throw new BloomfileException(ErrorCode.EBODY, "make a page of the layout ribbon", "a key would be lost");
            }
        }
    }

    private boolean solve(long[] digests, long n) {
        long least = n > mostKeys() ? Integer.MAX_VALUE : Math.max(2, (41 * n + 1279) / 1280);
        for (long q = least; q <= words / 2; q++) {
            groups = (int) q;
            for (seed = 0; seed < SEEDS; seed++) {
                if (spread(digests, (int) n) && eliminate(digests, (int) n)) {
                    return true;
                }
            }
        }
        return false;
    }

    private long hash(long digest) {
        return (mix(digest ^ D, C) ^ seed * C) * D;
    }

    private static long mix(long a, long b) {
        return Xxh3.mulhi(a, b) ^ a * b;
    }

    private int group(long h) {
        return (int) ((h >>> 32) * (groups - 1) >>> 32);
    }

    /** Returns whether the keys of each group and the leftovers before it fit; otherwise the rows cannot be
     * independent. */
    private boolean spread(long[] digests, int n) {
        Arrays.fill(loads, 0, groups, 0);
        for (int i = 0; i < n; i++) {
            loads[group(hash(digests[i]))]++;
        }
        int over = 0;
        for (int b = 0; b < groups - 1; b++) {
            over = Math.max(0, over + loads[b] - SLOTS);
            if (over > SLOTS) {
                return false;
            }
        }
        return true;
    }

    /** Returns whether the rows are independent. */
    private boolean eliminate(long[] digests, int n) {
        Arrays.fill(rows, 0, SLOTS * groups + 64, 0);
        for (int i = 0; i < n; i++) {
            long h = hash(digests[i]);
            long row = mix(h ^ COEFFICIENTS, C);
            int right = (int) h;
            int slot = SLOTS * group(h);
            while (true) {
                if (row == 0) {
                    return false;
                }
                int zeros = Long.numberOfTrailingZeros(row);
                slot += zeros;
                row >>>= zeros;
                if (rows[slot] == 0) {
                    rows[slot] = row;
                    rights[slot] = right;
                    break;
                }
                row ^= rows[slot];
                right ^= rights[slot];
            }
        }
        return true;
    }

    private int columns(int group) {
        int fewest = Math.min(MAX_COLUMNS, words / groups);
        return group < few() ? fewest : fewest + 1;
    }

    /** The number of groups with the fewest columns. */
    private int few() {
        int fewest = Math.min(MAX_COLUMNS, words / groups);
        return fewest == MAX_COLUMNS ? groups : groups * (fewest + 1) - words;
    }

    /** Where the columns of a group begin in the page. */
    private int place(int group) {
        return 8 + 4 * (group * Math.min(MAX_COLUMNS, words / groups) + Math.max(0, group - few()));
    }

    /** Solves from the last slot to the first; free slots are 0. */
    private void write(byte[] page) {
        long[] solution = new long[columns(groups - 1)]; // of each column, the 64 slots from the present one on
        for (int slot = SLOTS * groups - 1; slot >= 0; slot--) {
            for (int j = 0; j < solution.length; j++) {
                long x = solution[j] << 1;
                if (rows[slot] != 0) {
                    x |= (Long.bitCount(x & rows[slot]) ^ rights[slot] >>> j) & 1;
                }
                solution[j] = x;
            }
            if (slot % SLOTS == 0) {
                int group = slot / SLOTS;
                for (int j = 0; j < columns(group); j++) {
                    Header.INT.set(page, place(group) + 4 * j, (int) solution[j]);
                }
            }
        }
    }

    private boolean mayContain(long digest, byte[] page) {
        long h = hash(digest);
        int group = group(h);
        long a = mix(h ^ COEFFICIENTS, C);
        int count = columns(group);
        int at = place(group);
        for (int j = 0; j < count; j++) {
            long low = Header.u32(page, at + 4 * j) & 0xFFFFFFFFL;
            long pair = low | (long) Header.u32(page, at + 4 * (count + j)) << 32;
            if ((Long.bitCount(pair & a) ^ h >>> j & 1) % 2 != 0) {
                return false;
            }
        }
        return true;
    }

    /** The rate of the page: ribbon.md 6. */
    double rate() {
        if (groups == 0) {
            return 1;
        }
        double sum = 0;
        for (int b = 0; b < groups - 1; b++) {
            sum += Math.scalb(1.0, -columns(b));
        }
        return sum / (groups - 1);
    }
}
