/* SPDX-License-Identifier: MIT
 *
 * The positions of a digest (format-spec.md, section 10).
 *
 * Positions come from the top bits of the products g, g*C, g*C^2, ... modulo 2^64. C is 2^64
 * divided by the golden ratio, rounded down (Fibonacci hashing, Knuth 6.4). It is odd, so
 * multiplying by it is a bijection. Bit j of a product depends only on bits 0 to j of g: so low
 * bits are not used, and of the seven 9-bit slices that a product has room for, the blocked layout
 * uses the upper six.
 *
 * reduce(g, N) = floor(g * N / 2^64) needs no division and works for every N. It folds exactly,
 * because reduce(g, N/f) = floor(reduce(g, N) / f).
 */
#ifndef BLOOMFILE_PROBE_H
#define BLOOMFILE_PROBE_H

#include <stdint.h>

#define PROBE_MULTIPLIER  0x9E3779B97F4A7C15u
#define PROBE_BLOCK_BITS  512u
#define PROBE_BLOCK_BYTES 64u
#define PROBE_SLICES      6u /* 9-bit slices taken from the top of one product, blocked layout */

/* The high half of the 128-bit product, from four products of 32-bit halves. */
static inline uint64_t probe_mulhi_portable(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = (a0 * b0 >> 32) + a1 * b0; /* at most 2^64 - 2^32 */
    uint64_t carry = (uint32_t)middle + a0 * b1;
    return a1 * b1 + (middle >> 32) + (carry >> 32);
}

static inline uint64_t probe_reduce(uint64_t g, uint64_t n)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)(((u128)g * n) >> 64);
#else
    return probe_mulhi_portable(g, n);
#endif
}

/* The least digest whose first position is `unit` or above. unit < units, so it is below 2^64. */
static inline uint64_t probe_least_digest(uint64_t unit, uint64_t units)
{
    uint64_t digest = 0;
    for (uint64_t bit = 1ULL << 63; bit != 0; bit >>= 1)
        if (probe_reduce(digest + bit - 1, units) < unit)
            digest += bit;
    return digest;
}

/* The greatest digest whose first position is below `unit`. 0 < unit <= units. */
static inline uint64_t probe_last_digest(uint64_t unit, uint64_t units)
{
    return unit < units ? probe_least_digest(unit, units) - 1 : UINT64_MAX;
}

/* Bit 0 to 511 of the key's block: slice `i` (0 to PROBE_SLICES - 1) of a product. */
static inline unsigned probe_slice(uint64_t product, unsigned i)
{
    return (unsigned)(product >> (55 - 9 * i)) & (PROBE_BLOCK_BITS - 1);
}

#endif
