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

#include <float.h>

#include "sizing/of_layout.h"

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
