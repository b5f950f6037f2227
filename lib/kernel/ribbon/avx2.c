/* SPDX-License-Identifier: MIT
 * The layout ribbon with AVX2: eight columns of both blocks at once. */
#include <immintrin.h>

#define KERNEL_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
#include "kernel/ribbon/page.h"

KERNEL_INLINE __m128i quarter(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

KERNEL_INLINE __m256i half(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* The first four columns and the last four: what lies between is in both. */
KERNEL_INLINE __m256i two_quarters(const uint8_t *p, unsigned count)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(p)), quarter(p + 4 * count - 16),
                                   1);
}

/* Which of eight equations have an odd left side. */
KERNEL_INLINE unsigned odd(__m256i first, __m256i second, uint64_t row)
{
    const __m256i low = _mm256_set1_epi32((int)row), high = _mm256_set1_epi32((int)(row >> 32));
    __m256i x = _mm256_xor_si256(_mm256_and_si256(first, low), _mm256_and_si256(second, high));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 16));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 8));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 4));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 2));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 1));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(x));
}

KERNEL_INLINE bool fits(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    const uint8_t *const second = columns + 4 * (size_t)count;
    if (count - 4 <= 4)
        return odd(two_quarters(columns, count), two_quarters(second, count), row) ==
               ((right & 15) | (right >> (count - 4) & 15) << 4);
    if (count < 4)
        return kernel_ribbon_fits(columns, count, row, right);
    for (unsigned j = 0;; j = j + 8 <= count - 8 ? j + 8 : count - 8) {
        if (odd(half(columns + 4 * j), half(second + 4 * j), row) != (right >> j & 255))
            return false;
        if (j == count - 8)
            return true;
    }
}

#define LANES 4

typedef uint64_t lanes __attribute__((vector_size(32)));

KERNEL_INLINE lanes times(lanes a, lanes b)
{
    return (lanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}

#include "kernel/ribbon/batch.h"
#include "kernel/ribbon/solve.h"

const struct kernel kernel_avx2_ribbon = KERNEL_RIBBON("avx2");
