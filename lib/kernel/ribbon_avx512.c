/* SPDX-License-Identifier: MIT
 * The layout ribbon with AVX-512: up to 32 columns of both blocks at once. */
#include <immintrin.h>

#define KERNEL_TARGET                                                                              \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi,bmi2,popcnt")))
#include "kernel/ribbon_page.h"

KERNEL_INLINE unsigned odd_ones(__m512i words)
{
    return _mm512_movepi32_mask(_mm512_slli_epi32(_mm512_popcnt_epi32(words), 31));
}

/* Which of eight equations have an odd left side: the first eight words belong to their first
 * blocks, the others to their second. */
KERNEL_INLINE unsigned odd_words(const uint8_t *first, const uint8_t *second, uint64_t row)
{
    const __m512i half = _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512i words = _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)first)),
        _mm256_loadu_si256((const __m256i *)(const void *)second), 1);
    const __m512i rows =
        _mm512_permutexvar_epi32(half, _mm512_castsi128_si512(_mm_cvtsi64_si128((long long)row)));
    return odd_ones(_mm512_and_si512(words, rows));
}

/* Which of sixteen words have an odd number of bits in common with half a row. */
KERNEL_INLINE unsigned odd16(const uint8_t *words, uint32_t half)
{
    return odd_ones(_mm512_and_si512(_mm512_loadu_si512(words), _mm512_set1_epi32((int)half)));
}

/* The first eight or sixteen words, and the last: those in excess fall away. */
KERNEL_INLINE bool fits(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    const uint32_t low = (uint32_t)row, high = (uint32_t)(row >> 32);
    const uint8_t *const end = columns + 8 * (size_t)count;
    if (count - 4 <= 4) {
        const unsigned odd = odd_words(columns, end - 32, row);
        return _bzhi_u32(odd ^ odd >> (16 - count) ^ right, count) == 0;
    }
    if (count - 8 <= 8) {
        const unsigned odd = odd16(columns, low) ^ odd16(end - 64, high) >> (16 - count);
        return _bzhi_u32(odd ^ right, count) == 0;
    }
    if (count < 4)
        return kernel_ribbon_fits(columns, count, row, right);
    const uint8_t *const second = columns + 4 * (size_t)count;
    const unsigned first = odd16(columns, low) ^ odd16(second, high),
                   last = odd16(second - 64, low) ^ odd16(end - 64, high);
    return _bzhi_u32(first ^ right, 16) == 0 && _bzhi_u32(last ^ right >> (count - 16), 16) == 0;
}

#define LANES 8

typedef uint64_t lanes __attribute__((vector_size(64)));

KERNEL_INLINE lanes times(lanes a, lanes b)
{
    return (lanes)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

#include "kernel/ribbon_lanes.h"

#define RIBBON_SLOT
KERNEL_INLINE void set_slot(lanes *pairs, unsigned slot, uint64_t row, uint64_t rights)
{
    const lanes each = { 0, 1, 2, 3, 4, 5, 6, 7 };
    const lanes odd = (lanes)_mm512_popcnt_epi64((__m512i)(*pairs & row));
    *pairs |= ((odd ^ (rights - (lanes){ 0 }) >> each) & 1) << slot;
}

#include "kernel/ribbon_solve.h"

const struct kernel kernel_avx512_ribbon = KERNEL_RIBBON("avx512");
