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
#ifndef BLOOMFILE_SIZING_RATES_H
#define BLOOMFILE_SIZING_RATES_H

#include <bloomfile.h>
#include <float.h>

/* ---- The functions that compute the rates of a layout: one struct sizing each. */

/* Two absent keys together have so many positions. */
#define SIZING_MAX_PROBES (2 * BLOOMFILE_MAX_HASHES)

/* The chain of sizing/rates.h. uncovered[u]: the probability that u of the cells of one absent key,
 * or of two together, are still uncovered. */
struct rates_cover {
    double uncovered[SIZING_MAX_PROBES + 2];
    double cells;
    uint32_t k; /* positions of the absent key or keys */
};

/* Beyond this many probes a block counts as full, which errs on the safe side. */
#define SIZING_BLOCK_THROWS 4096

/* The rate of a block by its number of keys, for one k; computed as far as needed. */
struct sizing_memo {
    double by_keys[SIZING_BLOCK_THROWS + 1];
    uint32_t known, room;
    uint32_t throws;          /* of each key that is in the block */
    struct rates_cover cover; /* of k 0: nothing is known */
};

/* What the bits of a layout say. A body has m cells, `ones` of them above 0; blocks[i]: so many
 * blocks have i ones; of ribbon as in struct kernel_tally. NULL: cannot be told. */
struct sizing {
    /* The expected rate of n keys in that many units, digests apart. */
    double (*expected)(struct sizing_memo *memo, uint64_t units, uint32_t k, uint64_t n);
    /* The variance of the real rate among filters of n random keys, divided by the square of the
     * expected rate. */
    double (*variance)(uint64_t units, uint32_t k, uint64_t n);
    /* The real rate of a body. */
    double (*measured)(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513]);
    /* n estimated from the ones (Swamidass & Baldi 2007). Infinite if all bits are one. */
    double (*estimated_keys)(uint64_t m, uint32_t k, uint64_t ones);
    /* The expected rate of that body with `more` further keys. */
    double (*after)(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513],
                    uint64_t more);
    /* The standard error of the measured rate as an estimate of the average rate for this many
     * keys. */
    double (*standard_error)(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513]);
};

/* For blocked; for classic and counting, whose positions lie anywhere; for ribbon. */
extern const struct sizing rates_of_blocks;
extern const struct sizing rates_of_cells;
extern const struct sizing rates_of_ribbons;

/* ---- What they are made of. */

/* Sizes must come out equal on every machine: no x87, no contraction (-ffp-contract=off in
 * meson.build; the pragma for compilers that heed it), no reordering. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
#ifdef __FAST_MATH__
#error "build without -ffast-math: filters of the same keys would differ in size"
#endif
/* 1: only floats are computed as doubles, and here are none (s390x). */
_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1,
               "doubles must be computed as doubles (-msse2 -mfpmath=sse)");

/* Starts the chain for one absent key among that many cells. */
void rates_cover_start(struct rates_cover *c, uint32_t k, double cells);

/* Throws that many inserted probes. */
static inline void rates_cover_throw(struct rates_cover *c, uint64_t times)
{
    for (; times > 0; times--)
        for (uint32_t u = 0; u <= c->k; u++)
            c->uncovered[u] =
                c->uncovered[u] * (1 - u / c->cells) + c->uncovered[u + 1] * ((u + 1) / c->cells);
}

/* The mean of a unit's rate over the number of keys in it, which is binomial: n trials, and that
 * many units besides this one for each of them. rate() grows with the keys, up to 1. */
double rates_mean(double (*rate)(void *unit, double keys), void *unit, uint64_t n, double others);

double rates_power(double x, uint32_t n);

/* e^-x and 1 - e^-x for x >= 0; libm differs between machines in the last bit. */
double rates_exp_minus(double x);
double rates_one_minus_exp_minus(double x);

#endif
