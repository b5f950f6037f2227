// SPDX-License-Identifier: MIT
package io.github.bloomfile;

/**
 * The exact rate of a filter. The k positions of an absent key are at most k different cells. If u of them are
 * uncovered, the next throw covers another with probability u / cells. So u is a Markov chain with at most k + 1
 * states, and the rate is the probability of state 0.
 */
final class Uncovered {
    private final int k;
    private final double cells;
    /** {@code chance[u]} is the probability that u cells are uncovered; the array has one element to spare. */
    private final double[] chance;

    /** Before the first throw. */
    Uncovered(int k, double cells) {
        this.k = k;
        this.cells = cells;
        chance = new double[k + 2];
        chance[0] = 1;
        for (int position = 0; position < k; position++) {
            for (int r = position + 1; r > 0; r--) {
                chance[r] = chance[r] * (r / cells) + chance[r - 1] * (1 - (r - 1) / cells);
            }
            chance[0] = 0;
        }
    }

    void hit(long times) {
        for (; times > 0; times--) {
            for (int u = 0; u <= k; u++) {
                chance[u] = chance[u] * (1 - u / cells) + chance[u + 1] * ((u + 1) / cells);
            }
        }
    }

    /** The rate: the chance that no cell is uncovered. */
    double none() {
        return chance[0];
    }
}
