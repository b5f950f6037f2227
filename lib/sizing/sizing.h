/* SPDX-License-Identifier: MIT
 * From keys and a false-positive rate to bits and hashes, and back. Sizes are computed with + - *
 * / alone, in a fixed order, so that every machine builds the same filter from the same keys. */
#ifndef BLOOMFILE_SIZING_H
#define BLOOMFILE_SIZING_H

#include <stddef.h>
#include <stdint.h>

#define SIZING_DEFAULT_FPR 0.01

/* The least m, rounded up for folding, that keeps rate p for n keys. *k 0: set to the best one.
 * 0 if there is none. Arguments are in range: n 1 to 2^60, 0 < p < 1, *k at most 64. */
uint64_t sizing_bits(uint32_t layout, uint64_t n, double p, uint32_t *k);

/* The real rate of a body, from `ones` of m or, for blocked, from the number of blocks with each
 * count of ones. */
double sizing_measured_fpr(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones,
                           const uint64_t blocks[513]);

/* n estimated from the ones (Swamidass & Baldi 2007; for blocked, averaged over the keys of a
 * block). Infinite if all bits are one. */
double sizing_estimated_keys(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones);

/* The expected rate of that body with `more` further keys: exact for blocked, otherwise in the
 * limit of many bits. */
double sizing_fpr_after(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones,
                        const uint64_t blocks[513], uint64_t more);

/* The standard error of the measured rate as an estimate of the average rate for this many keys. */
double sizing_standard_error(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones,
                             const uint64_t blocks[513]);

/* The part of an intersection's fill `both` that comes from keys common to all sources, which are
 * filled to fill[]; the rest is chance. */
double sizing_common_fill(const double *fill, size_t count, double both);

#endif
