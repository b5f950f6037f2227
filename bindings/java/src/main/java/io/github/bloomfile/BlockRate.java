// SPDX-License-Identifier: MIT
package io.github.bloomfile;

/** The rate to expect of the blocked layout: the mean over the number of keys that fall into a block. */
final class BlockRate {
    private static final int BITS = 512;
    /** A block counts as full after more throws. */
    private static final int FULL = 4096;
    private static final double NEGLIGIBLE = 1e-17;
    private static final BlockRate[] OF = new BlockRate[Header.MAX_HASHES + 1];

    private final int k;
    /** After the last key that was thrown. */
    private final Uncovered block;
    private final double[] rates;
    private int known;

    private BlockRate(int k) {
        this.k = k;
        block = new Uncovered(k, BITS);
        rates = new double[FULL / k + 1];
    }

    /** The rate in n keys on N blocks. */
    static double rate(long blocks, long n, int k) {
        synchronized (OF) {
            if (OF[k] == null) {
                OF[k] = new BlockRate(k);
            }
            return blocks == 1 || n / blocks >= 2 * FULL ? OF[k].inBlock(n / blocks) : OF[k].mean(blocks, n);
        }
    }

    /**
     * The mean over the binomial distribution of n keys on a block, from its peak outwards. Above it the weights fall, while
     * the rates may rise by many orders of magnitude: the omitted rest is compared with the sum.
     */
    private double mean(long blocks, long n) {
        double others = blocks - 1;
        double keys = n;
        double peak = (long) (keys / (1 + others));
        double total = 1;
        double sum = inBlock(peak);
        double weight = 1;
        for (double j = peak; j < keys && weight > NEGLIGIBLE * sum; j++) {
            weight *= (keys - j) / (j + 1) / others;
            total += weight;
            sum += weight * inBlock(j + 1);
        }
        weight = 1;
        for (double j = peak; j > 0 && weight > NEGLIGIBLE; j--) {
            weight *= j / (keys - j + 1) * others;
            total += weight;
            sum += weight * inBlock(j - 1);
        }
        return sum / total;
    }

    /** The rate in a block of j keys. */
    private double inBlock(double j) {
        if (j >= rates.length) {
            return 1;
        }
        for (; known <= j; known++) {
            rates[known] = block.none();
            block.hit(k);
        }
        return rates[(int) j];
    }
}
