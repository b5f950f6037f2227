// SPDX-License-Identifier: MIT
package io.github.bloomfile;

/** The rate to expect of the classic and counting layouts: all k positions of a key hit cells that n * k throws hit. */
final class CellRate {
    /** After more throws the rate is computed from mean and variance of the cells that were hit. */
    private static final int EXACT = 2048;

    private CellRate() {
    }

    static double rate(long m, long n, int k) {
        if (n > EXACT / k) {
            return fromMoments(m, n, k);
        }
        Uncovered cells = new Uncovered(k, m);
        cells.hit(n * k);
        return cells.none();
    }

    private static double fromMoments(double m, double n, int k) {
        double load = n / m * k;
        double empty = expMinus(load);
        double full = oneMinusExpMinus(load);
        double mean = full + empty * load / (2 * m);
        double variance = (empty - (1 + load) * empty * empty) / m / (full * full);
        return power(mean, k) / expMinus(k * (k - 1) / 2.0 * variance);
    }

    private static double power(double x, int n) {
        double result = 1;
        for (; n > 0; n /= 2) {
            if (n % 2 != 0) {
                result *= x;
            }
            x *= x;
        }
        return result;
    }

    /** {@code e^-x}, by squaring. */
    private static double expMinus(double x) {
        if (x > 700) {
            return 0;
        }
        int halvings = 0;
        for (; x > 0.125; halvings++) {
            x /= 2;
        }
        double result = 1 - ofSmall(x);
        for (; halvings > 0; halvings--) {
            result *= result;
        }
        return result;
    }

    private static double oneMinusExpMinus(double x) {
        return x <= 0.125 ? ofSmall(x) : 1 - expMinus(x);
    }

    /** {@code 1 - e^-x} of a small x, from the series. */
    private static double ofSmall(double x) {
        double sum = 1;
        for (int i = 13; i > 1; i--) {
            sum = 1 - x / i * sum;
        }
        return x * sum;
    }
}
