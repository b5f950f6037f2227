/* SPDX-License-Identifier: MIT
 * An in-place radix sort from the top, like American flag sort (McIlroy, Bostic, McIlroy 1993),
 * but it exchanges a bucket's values one after the other instead of following the displaced ones,
 * so that several exchanges overlap (Skarupke 2016). */
#include "build/sort.h"

#include <string.h>

#define SMALL       32
#define DIGIT_MOST  8  /* bits: this many streams of exchanges fit in the first-level cache */
#define BUCKET_MOST 12 /* target size of a bucket that is split no further */
#define BUCKETS     (1u << DIGIT_MOST)
#define CACHED      4096 /* values that fit in the first-level cache: a look at them costs little */

static void insertion_sort(uint64_t *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t v = values[i];
        size_t j = i;
        for (; j > 0 && values[j - 1] > v; j--)
            values[j] = values[j - 1];
        values[j] = v;
    }
}

static unsigned digit_bits(size_t n, unsigned bits)
{
    unsigned digit = 1;
    while (digit < bits && digit < DIGIT_MOST && n >> digit > BUCKET_MOST)
        digit++;
    return digit;
}

/* Moves each value into its bucket. next[]: where buckets begin; on return, where they end. */
static void exchange(uint64_t *values, size_t *next, const size_t *end, unsigned buckets,
                     unsigned shift)
{
    for (unsigned b = 0; b < buckets; b++) {
        while (next[b] < end[b]) {
            for (size_t i = next[b]; i < end[b]; i++) {
                uint64_t v = values[i];
                size_t home = next[v >> shift & (buckets - 1)]++;
                values[i] = values[home];
                values[home] = v;
            }
        }
    }
}

static unsigned bits_that_differ(const uint64_t *values, size_t n)
{
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++)
        differ |= values[i] ^ values[0];
    return differ == 0 ? 0 : 64 - (unsigned)__builtin_clzll(differ);
}

/* Sorts values that differ only in their lowest `bits` bits. */
static void radix_sort(uint64_t *values, size_t n, unsigned bits)
{
    if (n <= SMALL || bits == 0) { /* few, or all equal */
        insertion_sort(values, n);
        return;
    }
    unsigned digit = digit_bits(n, bits), buckets = 1u << digit, shift = bits - digit;
    size_t next[BUCKETS], end[BUCKETS], sum = 0;
    memset(next, 0, buckets * sizeof *next);
    for (size_t i = 0; i < n; i++)
        next[values[i] >> shift & (buckets - 1)]++;
    for (unsigned b = 0; b < buckets; b++) {
        size_t count = next[b];
        next[b] = sum;
        end[b] = sum += count;
    }
    exchange(values, next, end, buckets, shift);
    if (shift == 0)
        return;
    for (unsigned b = 0; b < buckets; b++) {
        size_t start = b == 0 ? 0 : end[b - 1], count = end[b] - start;
        /* does not split a much repeated value bit by bit */
        radix_sort(values + start, count,
                   count > SMALL && count < CACHED ? bits_that_differ(values + start, count)
                                                   : shift);
    }
}

size_t sort_unique(uint64_t *values, size_t n)
{
    unsigned bits = bits_that_differ(values, n);
    if (bits == 0)
        return n > 0;
    radix_sort(values, n, bits);
    size_t kept = 1;
    for (size_t i = 1; i < n; i++)
        if (values[i] != values[kept - 1])
            values[kept++] = values[i];
    return kept;
}
