/* SPDX-License-Identifier: MIT
 * American flag sort (McIlroy, Bostic, McIlroy 1993): a radix sort in place, a byte at a time from
 * the top. Digests are spread evenly, so three levels reach the small buckets at 10^9 keys. */
#include "sort.h"

#define SMALL 48

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

static void radix_sort(uint64_t *values, size_t n, unsigned shift)
{
    if (n <= SMALL) {
        insertion_sort(values, n);
        return;
    }
    size_t next[256] = { 0 }, end[256];
    for (size_t i = 0; i < n; i++)
        next[values[i] >> shift & 255]++;
    size_t sum = 0;
    for (unsigned b = 0; b < 256; b++) {
        size_t count = next[b];
        next[b] = sum;
        end[b] = sum += count;
    }
    for (unsigned b = 0; b < 256; b++) {
        while (next[b] < end[b]) {
            uint64_t v = values[next[b]];
            for (unsigned home; (home = v >> shift & 255) != b;) {
                uint64_t displaced = values[next[home]];
                values[next[home]++] = v;
                v = displaced;
            }
            values[next[b]++] = v;
        }
    }
    if (shift == 0)
        return;
    for (unsigned b = 0; b < 256; b++) {
        size_t start = b == 0 ? 0 : end[b - 1];
        radix_sort(values + start, end[b] - start, shift - 8);
    }
}

size_t sort_unique(uint64_t *values, size_t n)
{
    radix_sort(values, n, 56);
    size_t kept = n > 0;
    for (size_t i = 1; i < n; i++)
        if (values[i] != values[kept - 1])
            values[kept++] = values[i];
    return kept;
}
