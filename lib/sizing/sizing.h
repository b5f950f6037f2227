/* SPDX-License-Identifier: MIT
 * Bits and hashes for a number of keys and a false-positive rate, and the reverse. Sizes are
 * computed with + - * / alone, in a fixed order, so that every machine builds the same filter from
 * the same keys. */
#ifndef BLOOMFILE_SIZING_H
#define BLOOMFILE_SIZING_H

#include <stdbool.h>

#include "sizing/rates.h"

#define SIZING_DEFAULT_FPR 0.01

/* The least m, rounded up for folding, that keeps rate p for n keys. *k 0: set to the best one.
 * 0 if there is none. Arguments are in range: n 1 to 2^60, 0 < p < 1, *k at most 64. */
uint64_t sizing_bits(uint32_t layout, uint64_t n, double p, uint32_t *k);

/* Whether a rate is at most p but for rounding, as sizes.md of the format says. */
bool sizing_keeps(double rate, double p);

/* The expected rate of n keys in that many units; k of layouts that are solved: 0. */
double sizing_rate(uint32_t layout, uint64_t units, uint32_t k, uint64_t n);

/* The largest number of keys that keeps rate p; UINT64_MAX: any number does. guess: a number near
 * it, from 1 to 2^60. */
uint64_t sizing_most_keys(uint32_t layout, uint64_t units, uint32_t k, double p, uint64_t guess);

/* The k with the lowest rate for n keys in m bits; 0 if the layout is solved. */
uint32_t sizing_hashes(uint32_t layout, uint64_t m, uint64_t n);

/* The largest number of keys, 1 at least, that keeps rate p in m bits. k 0: the best for each. */
uint64_t sizing_capacity(uint32_t layout, uint64_t m, uint32_t k, double p);

/* How many bits a builder gives a file that needs m: whole pages, if the layout is solved, since
 * then it answers better the more it has. */
uint64_t sizing_file_bits(uint32_t layout, uint64_t m);

/* Of a known layout. */
const struct sizing *sizing_of(uint32_t layout);

/* The part of an intersection's fill `both` that comes from keys common to all sources, which are
 * filled to fill[]; the rest is chance. */
double sizing_common_fill(const double *fill, size_t count, double both);

#endif
