/* SPDX-License-Identifier: MIT
 * The layout ribbon with AVX-512: up to 32 columns of both blocks at once. */
#include <immintrin.h>

#define KERNEL_TARGET                                                                              \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi,bmi2,popcnt")))
#include "kernel/ribbon_page.h"

/* Of `count` columns, between one and two times a group of lanes, the groups are the first and the
 * last ones: what lies between is in both. */
#define BITS(group) ((1u << (group)) - 1)

KERNEL_INLINE unsigned expected(uint32_t right, unsigned count, unsigned group)
{
    return (right & BITS(group)) | (right >> (count - group) & BITS(group)) << group;
}

KERNEL_INLINE __m128i quarter(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

KERNEL_INLINE __m256i half(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

KERNEL_INLINE __m256i two_quarters(const uint8_t *p, unsigned count)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(p)), quarter(p + 4 * count - 16),
                                   1);
}

KERNEL_INLINE __m512i two_halves(const uint8_t *p, unsigned count)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(half(p)), half(p + 4 * count - 32), 1);
}

KERNEL_INLINE unsigned odd8(__m256i first, __m256i second, uint64_t row)
{
    const __m256i low = _mm256_set1_epi32((int)row), high = _mm256_set1_epi32((int)(row >> 32));
    const __m256i sum =
        _mm256_xor_si256(_mm256_and_si256(first, low), _mm256_and_si256(second, high));
    return _mm256_test_epi32_mask(_mm256_popcnt_epi32(sum), _mm256_set1_epi32(1));
}

KERNEL_INLINE unsigned odd16(__m512i first, __m512i second, uint64_t row)
{
    const __m512i low = _mm512_set1_epi32((int)row), high = _mm512_set1_epi32((int)(row >> 32));
    const __m512i sum =
        _mm512_xor_si512(_mm512_and_si512(first, low), _mm512_and_si512(second, high));
    return _mm512_test_epi32_mask(_mm512_popcnt_epi32(sum), _mm512_set1_epi32(1));
}

KERNEL_INLINE unsigned odd16_at(const uint8_t *p, unsigned count, uint64_t row)
{
    return odd16(_mm512_loadu_si512(p), _mm512_loadu_si512(p + 4 * count), row);
}

KERNEL_INLINE bool fits(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    const uint8_t *const second = columns + 4 * (size_t)count;
    if (count - 4 <= 4)
        return odd8(two_quarters(columns, count), two_quarters(second, count), row) ==
               expected(right, count, 4);
    if (count - 8 <= 8)
        return odd16(two_halves(columns, count), two_halves(second, count), row) ==
               expected(right, count, 8);
    if (count < 4)
        return kernel_ribbon_fits(columns, count, row, right);
    return odd16_at(columns, count, row) == (right & BITS(16)) &&
           odd16_at(columns + 4 * (size_t)count - 64, count, row) ==
               (right >> (count - 16) & BITS(16));
}

#define LANES 8

typedef uint64_t lanes __attribute__((vector_size(64)));

KERNEL_INLINE lanes times(lanes a, lanes b)
{
    return (lanes)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

KERNEL_INLINE lanes shapes_at(const int *shapes, lanes pages)
{
    const __m256i found = _mm512_i64gather_epi32((__m512i)pages, shapes, 4);
    return (lanes)_mm512_cvtepu32_epi64(found);
}

KERNEL_INLINE bool has_zero(lanes a)
{
    return _mm512_testn_epi64_mask((__m512i)a, (__m512i)a) != 0;
}

#include "kernel/ribbon_lanes.h"
#include "kernel/ribbon_solve.h"

const struct kernel kernel_avx512_ribbon = KERNEL_RIBBON("avx512");
