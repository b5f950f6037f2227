/* SPDX-License-Identifier: MIT
 * Bits and hashes for a number of keys and a false-positive rate, and the reverse. Sizes are
 * computed by + - * / only, in a fixed order, so that every machine builds the same filter. */
#ifndef BLOOMFILE_SIZING_H
#define BLOOMFILE_SIZING_H

#include <stdbool.h>

#include "sizing/rates.h"

#define SIZING_DEFAULT_FPR 0.01

/* Returns the least m, rounded up for folding, that keeps rate p for n keys, or 0 if no m does. If
 * *k is 0, sets it to the best k. Arguments must be in range: 1 <= n <= 2^60, 0 < p < 1, *k <= 64.
 */
uint64_t sizing_bits(uint32_t layout, uint64_t n, double p, uint32_t *k);

/* Returns whether a rate is at most p, with the tolerance of doc/format/sizes.md 3. */
bool sizing_keeps(double rate, double p);

/* The expected rate of n keys in that many units. k is 0 for layouts that are solved. */
double sizing_rate(uint32_t layout, uint64_t units, uint32_t k, uint64_t n);

/* The largest number of keys that keeps rate p; UINT64_MAX if every number does. guess: a number
 * near the result, from 1 to 2^60. */
uint64_t sizing_most_keys(uint32_t layout, uint64_t units, uint32_t k, double p, uint64_t guess);

/* The k with the lowest rate for n keys in m bits; 0 if the layout is solved. */
uint32_t sizing_hashes(uint32_t layout, uint64_t m, uint64_t n);

/* The largest number of keys, at least 1, that keeps rate p in m bits. If k is 0, uses the best k
 * for each number. */
uint64_t sizing_capacity(uint32_t layout, uint64_t m, uint32_t k, double p);

/* The number of bits that a builder gives to a file that needs m bits. A layout that is solved gets
 * whole pages, because more bits lower its rate. */
uint64_t sizing_file_bits(uint32_t layout, uint64_t m);

/* The rates of a known layout. */
const struct sizing *sizing_of(uint32_t layout);

/* The part of an intersection's fill, `both`, that comes from keys common to all sources. fill[]
 * are the fills of the sources. The rest is chance. */
double sizing_common_fill(const double *fill, size_t count, double both);

#endif
