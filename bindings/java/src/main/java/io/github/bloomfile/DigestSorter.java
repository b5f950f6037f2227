// SPDX-License-Identifier: MIT
package io.github.bloomfile;

import java.util.Arrays;

/** Sorts the numbers of a part, which differ only in their lower bits, and drops repeated numbers. */
final class DigestSorter {
    private static final int MAX_BITS = 16;
    private static final int SHORT = 48;

    /** The number of digests. */
    int count;
    private final int differing;
    private long[] numbers = new long[1 << 12];
    private long[] other = new long[0];
    private final int[] ends = new int[(1 << MAX_BITS) + 1];

    /**
     * A sorter.
     *
     * @param differing the number of low bits in which numbers of a part differ, 0 to 64
     */
    DigestSorter(int differing) {
        this.differing = differing;
    }

    void begin() {
        count = 0;
    }

    /** Returns the array of numbers, with room for {@code more} numbers after the first {@link #count}. */
    long[] room(int more) {
        if (numbers.length - count < more) {
            if (count > 1 << 20) {
                sort(); // many may be repetitions
            }
            if (numbers.length - count < more || count > numbers.length / 2) {
                numbers = Arrays.copyOf(numbers, Math.max(Math.multiplyExact(2, numbers.length), count + more));
            }
        }
        return numbers;
    }

    /** Sorts, and drops repetitions. Numbers of a part have the same topmost bit, so that of their signs does not matter. */
    void sort() {
        int bits = Math.min(Math.min(MAX_BITS, differing), 31 - Integer.numberOfLeadingZeros(count / 4 | 1));
        if (bits > 2) {
            distribute(bits);
        } else {
            count = sortRange(0, count, 0);
        }
    }

    /** Sorts by the topmost differing bits into buckets of about four, then each bucket. */
    private void distribute(int bits) {
        if (other.length < count) {
            other = new long[numbers.length];
        }
        int low = differing - bits;
        int mask = (1 << bits) - 1;
        Arrays.fill(ends, 0, mask + 2, 0);
        for (int i = 0; i < count; i++) {
            ends[((int) (numbers[i] >>> low) & mask) + 1]++;
        }
        for (int b = 0; b < mask; b++) {
            ends[b + 1] += ends[b];
        }
        for (int i = 0; i < count; i++) {
            long x = numbers[i];
            other[ends[(int) (x >>> low) & mask]++] = x;
        }
        long[] sorted = other;
        other = numbers;
        numbers = sorted;
        int from = 0;
        int kept = 0;
        for (int b = 0; b <= mask; b++) {
            kept = sortRange(from, ends[b], kept);
            from = ends[b];
        }
        count = kept;
    }

    /** Sorts a range, and moves the distinct digests to a place before it. Returns their end. */
    private int sortRange(int from, int to, int place) {
        long[] all = numbers;
        if (to - from > SHORT) {
            Arrays.sort(all, from, to);
        }
        int kept = place;
        for (int i = from; i < to; i++) {
            long x = all[i];
            int j = kept - 1;
            while (j >= place && all[j] > x) {
                j--;
            }
            if (j < place || all[j] != x) {
                for (int last = kept++; last > j + 1; last--) {
                    all[last] = all[last - 1];
                }
                all[j + 1] = x;
            }
        }
        return kept;
    }

    /** The numbers, with something added to each. They are not of the part any more. */
    long[] shifted(long add) {
        for (int i = 0; i < count; i++) {
            numbers[i] += add;
        }
        return numbers;
    }
}
