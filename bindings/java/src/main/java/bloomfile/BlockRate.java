// SPDX-License-Identifier: MIT
package bloomfile;

import java.util.Arrays;

/** The rate to expect of the layout blocked: the mean over the number of keys that fall into a block. */
final class BlockRate {
    private static final int BITS = 512;
    /** With more bits thrown into a block it is full. */
    private static final int FULL = 16 * BITS;
    private static final BlockRate[] OF = new BlockRate[Header.MAX_HASHES + 1];

    private final int k;
    private final double[] power = new double[BITS + 1];
    /** The distribution of the bits that are one after the last key that was thrown. */
    private double[] distribution = new double[BITS + 1];
    private double[] rates = new double[64];
    private int known;

    private BlockRate(int k) {
        this.k = k;
        for (int x = 0; x <= BITS; x++) {
            power[x] = Math.pow(x / (double) BITS, k);
        }
        distribution[0] = 1;
        known = 1;
    }

    /** The rate in n keys on N blocks. */
    static double rate(long blocks, long n, int k) {
        synchronized (OF) {
            if (OF[k] == null) {
                OF[k] = new BlockRate(k);
            }
            return blocks == 1 ? OF[k].inBlock(n) : OF[k].mean(blocks, n);
        }
    }

    /** The mean over the binomial distribution of n keys on a block, from its peak outwards. */
    private double mean(long blocks, long n) {
        double odds = 1.0 / (blocks - 1.0);
        long peak = (long) ((n + 1.0) / blocks);
        if (peak > FULL / k) {
            return 1;
        }
        double weight = 0;
        double sum = 0;
        double p = 1;
        for (long j = peak; j <= n && p > 1e-18; j++) {
            weight += p;
            sum += p * inBlock(j);
            p *= (n - j) / (j + 1.0) * odds;
        }
        p = 1;
        for (long j = peak; j > 0 && p > 1e-18; j--) {
            p *= j / (n - j + 1.0) / odds;
            weight += p;
            sum += p * inBlock(j - 1);
        }
        return sum / weight;
    }

    /** The rate in a block of j keys. */
    private double inBlock(long j) {
        if (j > FULL / k) {
            return 1;
        }
        while (known <= j) {
            extend();
        }
        return rates[(int) j];
    }

    private void extend() {
        for (int i = 0; i < k; i++) {
            for (int x = BITS; x > 0; x--) {
                distribution[x] = distribution[x] * (x / (double) BITS)
                        + distribution[x - 1] * ((BITS - (x - 1)) / (double) BITS);
            }
            distribution[0] = 0;
        }
        if (known == rates.length) {
            rates = Arrays.copyOf(rates, 2 * rates.length);
        }
        double rate = 0;
        for (int x = 1; x <= BITS; x++) {
            rate += distribution[x] * power[x];
        }
        rates[known++] = rate;
    }
}
