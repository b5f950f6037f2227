// SPDX-License-Identifier: MIT
package bloomfile;

/** The rate to expect of the layouts classic and counting: all k positions of a key hit cells that n * k throws hit. */
final class CellRate {
    /** So many steps are made exactly. */
    private static final double EXACT = 3e6;

    private CellRate() {
    }

    static double rate(long m, long n, int k) {
        double throwsMade = (double) n * k;
        if (throwsMade * Math.min(m, throwsMade) <= EXACT) {
            return exact((int) Math.min(m, Integer.MAX_VALUE), m, (int) throwsMade, k);
        }
        // The mean of the k-th power, from mean and variance of the fraction of cells that were hit.
        double zero = Math.exp(throwsMade * Math.log1p(-1.0 / m));
        double two = m > 2 ? Math.exp(throwsMade * Math.log1p(-2.0 / m)) : 0;
        double mean = -Math.expm1(throwsMade * Math.log1p(-1.0 / m));
        // zero^2 and two are nearly equal: their difference is made of logarithms.
        double difference = zero * zero * Math.expm1(throwsMade * (Math.log1p(-2.0 / m) - 2 * Math.log1p(-1.0 / m)));
        double variance = m > 2 ? zero / m + difference - two / m : 0;
        double relative = variance / (mean * mean);
        return Math.min(1, Math.exp(k * Math.log(mean)) * (1 + k * (k - 1) / 2.0 * relative));
    }

    /** From the distribution of the number of cells that were hit. */
    private static double exact(int cells, double m, int throwsMade, int k) {
        int most = Math.min(cells, throwsMade);
        double[] p = new double[most + 2];
        p[0] = 1;
        for (int t = 0; t < throwsMade; t++) {
            for (int x = Math.min(t + 1, most); x > 0; x--) {
                p[x] = p[x] * (x / m) + p[x - 1] * ((m - (x - 1)) / m);
            }
            p[0] = 0;
        }
        double rate = 0;
        for (int x = 1; x <= most; x++) {
            rate += p[x] * Math.pow(x / m, k);
        }
        return rate;
    }
}
