/* SPDX-License-Identifier: MIT
 *
 * The rate of a Bloom filter, exactly.
 *
 * An absent key is a false positive if its k probes all hit bits that the inserted keys' probes
 * have set. The k probes fall on r <= k different cells. Look at those r cells while the inserted
 * probes are thrown one after the other: each covers one of the u cells still uncovered with
 * probability u / cells. So the number of uncovered cells is a Markov chain with at most k + 1
 * states, every step adds positive numbers only, and the rate is the probability that nothing is
 * left uncovered. (The usual (1 - e^(-kn/m))^k is the limit for many cells: Bose et al. 2008 show
 * it too low for small m.)
 *
 * To that comes n / 2^64, the chance of a key to share its digest with one that is there.
 *
 * A filter too large for a chain of all its probes has a fill that is nearly normal; its first two
 * moments then give the same rate.
 *
 * A block of the blocked layout is a filter of 512 cells with a binomially distributed number of
 * keys; its rate is the mean of the chain's over that distribution.
 */
#ifndef BLOOMFILE_RATES_H
#define BLOOMFILE_RATES_H

#include <bloomfile.h>

/* The chain. uncovered[u]: the probability that u of the absent key's cells are still uncovered. */
struct cover {
    double uncovered[BLOOMFILE_MAX_HASHES + 2];
    double cells;
    uint32_t k;
};

/* Beyond this many probes a block counts as full, which errs on the safe side. */
#define RATES_BLOCK_THROWS 4096

/* The rate of a block by its number of keys, for one k; computed as far as needed. */
struct block_rates {
    double by_keys[RATES_BLOCK_THROWS + 1];
    uint32_t known, room;
    struct cover cover;
};

/* For empty blocks; for others, change ->cover.uncovered before the first rate. */
void rates_blocks_start(struct block_rates *rates, uint32_t k);

/* The rate of `blocks` blocks with n keys. */
double rates_blocked(struct block_rates *rates, uint64_t blocks, uint64_t n);

/* The rate of m bits, or counters, with n keys. */
double rates_scattered(uint64_t m, uint32_t k, uint64_t n);

/* The chance that an absent key shares its digest with one that is there: no filter does better. */
double rates_digest(uint64_t n);

/* The rate of a filter of any layout; `rates` is used for blocked. */
double rates_of_units(uint32_t layout, struct block_rates *rates, uint64_t units, uint32_t k,
                      uint64_t n);

double rates_power(double x, uint32_t n);

/* e^-x for x >= 0; libm differs between machines in the last bit. */
double rates_exp_minus(double x);

#endif
