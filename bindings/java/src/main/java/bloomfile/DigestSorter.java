// SPDX-License-Identifier: MIT
package bloomfile;

import java.util.Arrays;

/** Sorts the numbers of one part, which differ in their lower bits only, and drops repetitions. */
final class DigestSorter {
    private static final int MAX_BITS = 16;
    private static final int SHORT = 48;

    /** How many numbers there are. */
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

    /** The numbers, with room for some more behind the {@link #count}-th. */
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

    /** Sorts as unsigned numbers, and drops repetitions. */
    void sort() {
        int bits = Math.min(Math.min(MAX_BITS, differing), 31 - Integer.numberOfLeadingZeros(count / 4 | 1));
        if (bits > 2) {
            distribute(bits);
        } else {
            sortRange(0, count);
        }
        unique();
    }

    /** By their topmost differing bits into buckets of about four, then each bucket. */
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
        for (int b = 0; b <= mask; b++) {
            sortRange(from, ends[b]);
            from = ends[b];
        }
    }

    private void sortRange(int from, int to) {
        if (to - from > SHORT) {
            // Signed order is unsigned order where the topmost bits are turned.
            turn(from, to);
            Arrays.sort(numbers, from, to);
            turn(from, to);
            return;
        }
        for (int i = from + 1; i < to; i++) {
            long x = numbers[i];
            int j = i - 1;
            while (j >= from && Long.compareUnsigned(numbers[j], x) > 0) {
                numbers[j + 1] = numbers[j];
                j--;
            }
            numbers[j + 1] = x;
        }
    }

    private void turn(int from, int to) {
        for (int i = from; i < to; i++) {
            numbers[i] ^= Long.MIN_VALUE;
        }
    }

    private void unique() {
        int kept = 0;
        for (int i = 0; i < count; i++) {
            if (kept == 0 || numbers[i] != numbers[kept - 1]) {
                numbers[kept++] = numbers[i];
            }
        }
        count = kept;
    }

    /** The numbers, with something added to each. They are not of the part any more. */
    long[] shifted(long add) {
        for (int i = 0; i < count; i++) {
            numbers[i] += add;
        }
        return numbers;
    }
}
