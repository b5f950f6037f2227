/* SPDX-License-Identifier: MIT
 * The layout ribbon with AVX-512: eight columns of both blocks at once. */
#include <immintrin.h>

#define KERNEL_TARGET                                                                              \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi,bmi2,popcnt")))
#include "kernel/ribbon/page.h"

/* Which of sixteen words have an odd number of ones in common with the row: eight that belong to
 * first blocks, then eight that belong to second ones. */
KERNEL_INLINE unsigned odd_words(const uint8_t *first, const uint8_t *second, uint64_t row)
{
    const __m512i half = _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512i words = _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)first)),
        _mm256_loadu_si256((const __m256i *)(const void *)second), 1);
    const __m512i rows =
        _mm512_permutexvar_epi32(half, _mm512_castsi128_si512(_mm_cvtsi64_si128((long long)row)));
    const __m512i ones = _mm512_popcnt_epi32(_mm512_and_si512(words, rows));
    return _mm512_movepi32_mask(_mm512_slli_epi32(ones, 31));
}

/* Eight equations at a time; the last eight may begin among those before. */
KERNEL_INLINE bool rest_fits(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    const uint8_t *const second = columns + 4 * (size_t)count;
    for (unsigned j = 8; j < count; j += 8) {
        const unsigned at = j < count - 8 ? j : count - 8;
        const unsigned odd = odd_words(columns + 4 * (size_t)at, second + 4 * (size_t)at, row);
        if (((odd ^ odd >> 8 ^ right >> at) & 255) != 0)
            return false;
    }
    return true;
}

/* The first eight equations, or as many as there are, without a branch, for pages have more than
 * eight and others fewer: the words of the second block are the eight behind the first, or the last
 * eight of all. */
KERNEL_INLINE bool fits(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    if (count < 4)
        return kernel_ribbon_fits(columns, count, row, right);
    const unsigned some = count < 8 ? count : 8;
    const unsigned odd = odd_words(columns, columns + 4 * (size_t)(count + some) - 32, row);
    const bool fit = _bzhi_u32(odd ^ odd >> (16 - some) ^ right, some) == 0;
    const bool more = fit & (count > 8);
    return more ? rest_fits(columns, count, row, right) : fit;
}

#define LANES 8

typedef uint64_t lanes __attribute__((vector_size(64)));

KERNEL_INLINE lanes times(lanes a, lanes b)
{
    return (lanes)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

#include "kernel/ribbon/batch.h"

#define RIBBON_SLOT
KERNEL_INLINE void set_slot(lanes *pairs, unsigned slot, uint64_t row, uint64_t rights)
{
    const lanes each = { 0, 1, 2, 3, 4, 5, 6, 7 };
    const lanes odd = (lanes)_mm512_popcnt_epi64((__m512i)(*pairs & row));
    *pairs |= ((odd ^ (rights - (lanes){ 0 }) >> each) & 1) << slot;
}

#include "kernel/ribbon/solve.h"

const struct kernel kernel_avx512_ribbon = KERNEL_RIBBON("avx512");
