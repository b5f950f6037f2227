/* SPDX-License-Identifier: MIT
 *
 * The exact false-positive rates of filters.
 *
 * An absent key is a false positive if its k probes all hit bits that the inserted keys' probes
 * have set. The k probes fall on r <= k different cells. Consider these r cells while the inserted
 * probes are thrown one after the other: if u of them are still uncovered, the next probe covers
 * another with probability u / cells. So the number of uncovered cells is a Markov chain with at
 * most k + 1 states, and the rate is the probability of state 0. Every step adds positive numbers
 * only, so no digits cancel. (The usual (1 - e^(-kn/m))^k is the limit for many cells. Bose et al.
 * 2008 show that it is too low for small m.)
 *
 * sizing.c adds n / 2^64, the chance that an absent key shares its digest with a key in the filter.
 *
 * A filter may be too large for a chain of all its probes. Then its fill is nearly normal, and the
 * first two moments of the fill give the same rate.
 *
 * A block of the blocked layout is a filter of 512 cells with a binomially distributed number of
 * keys. Its rate is the mean of the chain's rate over that distribution.
 */
#ifndef BLOOMFILE_SIZING_RATES_H
#define BLOOMFILE_SIZING_RATES_H

#include <bloomfile.h>
#include <float.h>

/* ---- the functions that compute the rates of a layout, one struct sizing for each family of
 * layouts */

/* The most probes of two absent keys. */
#define SIZING_MAX_PROBES (2 * BLOOMFILE_MAX_HASHES)

/* The chain. uncovered[u] is the probability that u cells of one or two absent keys are free. */
struct rates_cover {
    double uncovered[SIZING_MAX_PROBES + 2];
    double cells;
    uint32_t k; /* probes of the absent key or keys */
};

/* A block with more probes than this counts as full, which can only make the rate too high. */
#define SIZING_BLOCK_THROWS 4096

/* A memo of the rate of a block by its number of keys, for one k, computed as far as needed. */
struct sizing_memo {
    double by_keys[SIZING_BLOCK_THROWS + 1];
    uint32_t known, room;
    uint32_t throws;          /* probes of each key in the block */
    struct rates_cover cover; /* its k is 0 before the first use */
};

/* The rate functions of a family of layouts. A body has m cells, `ones` of them above 0, and
 * blocks[i] blocks with i set bits (for ribbon, see struct kernel_tally). A function is NULL if the
 * bits of the layout do not determine its result. */
struct sizing {
    /* The expected rate of n keys in `units` units, before sizing.c adds the chance of equal
     * digests. */
    double (*expected)(struct sizing_memo *memo, uint64_t units, uint32_t k, uint64_t n);
    /* The variance of the actual rate among filters of n random keys, divided by the square of the
     * expected rate. */
    double (*variance)(uint64_t units, uint32_t k, uint64_t n);
    /* The actual rate of a body. */
    double (*measured)(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513]);
    /* n estimated from the set bits (Swamidass & Baldi 2007). Infinite if all bits are set. */
    double (*estimated_keys)(uint64_t m, uint32_t k, uint64_t ones);
    /* The expected rate of the body after `more` keys are added. */
    double (*after)(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513],
                    uint64_t more);
    /* The standard error of the measured rate as an estimate of the average for this many keys. */
    double (*standard_error)(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513]);
};

/* For blocked; for classic and counting, whose positions lie anywhere; for ribbon. */
extern const struct sizing rates_of_blocks;
extern const struct sizing rates_of_cells;
extern const struct sizing rates_of_ribbons;

/* ---- functions shared by the families */

/* Sizes must be equal on every machine. That excludes x87, contraction (-ffp-contract=off in
 * meson.build; the pragma is for compilers that support it) and reordering. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
#ifdef __FAST_MATH__
#error "build without -ffast-math: filters of the same keys would differ in size"
#endif
/* 1 (s390x) means that floats are computed as doubles; this code has only doubles. */
_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1,
               "doubles must be computed as doubles (-msse2 -mfpmath=sse)");

/* Starts the chain for one absent key among that many cells. */
void rates_cover_start(struct rates_cover *c, uint32_t k, double cells);

/* Throws `times` inserted probes. */
static inline void rates_cover_throw(struct rates_cover *c, uint64_t times)
{
    for (; times > 0; times--)
        for (uint32_t u = 0; u <= c->k; u++)
            c->uncovered[u] =
                c->uncovered[u] * (1 - u / c->cells) + c->uncovered[u + 1] * ((u + 1) / c->cells);
}

/* The mean of a unit's rate over the number of its keys. That number is binomial, with n trials and
 * probability 1 / (1 + others). rate() must grow with the keys, up to 1. */
double rates_mean(double (*rate)(void *unit, double keys), void *unit, uint64_t n, double others);

double rates_power(double x, uint32_t n);

/* e^-x and 1 - e^-x for x >= 0. The functions of libm differ between machines in the last bit. */
double rates_exp_minus(double x);
double rates_one_minus_exp_minus(double x);

#endif
