/* SPDX-License-Identifier: MIT
 * SSE2, AVX2, NEON, or eight bytes at a time. */
#include "shared/marks.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

size_t marks_find_none(const uint8_t *at, const uint8_t *end, uint8_t mark,
                       struct bloomfile_key *keys, size_t max)
{
    (void)at;
    (void)end;
    (void)mark;
    (void)keys;
    (void)max;
    return 0;
}

#ifdef __SSE2__

enum {
    AT_ONCE = 2 /* marks in a block that are noted whether they are there or not */
};
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define AVX2          __attribute__((target("avx2,bmi,popcnt")))

/* Bit i is set where block[i] is the mark. */
ALWAYS_INLINE uint64_t marks_sse2(const uint8_t *block, uint8_t mark)
{
    const __m128i marks = _mm_set1_epi8((char)mark);
    uint64_t found = 0;
    for (unsigned i = 0; i < MARKS_BLOCK / sizeof(marks); i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)block + i);
        uint32_t bits = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, marks));
        found |= (uint64_t)bits << (i * sizeof(marks));
    }
    return found;
}

AVX2 ALWAYS_INLINE uint64_t marks_avx2(const uint8_t *block, uint8_t mark)
{
    const __m256i marks = _mm256_set1_epi8((char)mark);
    uint64_t found = 0;
    for (unsigned i = 0; i < MARKS_BLOCK / sizeof(marks); i++) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)block + i);
        uint32_t bits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, marks));
        found |= (uint64_t)bits << (i * sizeof(marks));
    }
    return found;
}

/* Which bytes are marks is nothing that a processor could foresee, so no branch depends on it until
 * a block has more than AT_ONCE. */
ALWAYS_INLINE size_t find_by(uint64_t (*marks_in)(const uint8_t *, uint8_t), const uint8_t *at,
                             const uint8_t *end, uint8_t mark, struct bloomfile_key *keys,
                             size_t max)
{
    size_t n = 0;
    for (; end - at >= MARKS_BLOCK && max - n >= AT_ONCE; at += MARKS_BLOCK) {
        uint64_t marks = marks_in(at, mark);
        size_t last = n + (size_t)__builtin_popcountll(marks);
        for (unsigned i = 0; i < AT_ONCE; i++, marks &= marks - 1)
            keys[n + i].data = at + __builtin_ctzll(marks | 1ULL << (MARKS_BLOCK - 1));
        for (size_t i = n + AT_ONCE; marks != 0 && i < max; i++, marks &= marks - 1)
            keys[i].data = at + __builtin_ctzll(marks);
        n = last < max ? last : max;
    }
    return n;
}

size_t marks_find_sse2(const uint8_t *at, const uint8_t *end, uint8_t mark,
                       struct bloomfile_key *keys, size_t max)
{
    return find_by(marks_sse2, at, end, mark, keys, max);
}

AVX2 size_t marks_find_avx2(const uint8_t *at, const uint8_t *end, uint8_t mark,
                            struct bloomfile_key *keys, size_t max)
{
    return find_by(marks_avx2, at, end, mark, keys, max);
}

marks_find *marks_finder(void)
{
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("popcnt");
    return has_avx2 ? marks_find_avx2 : marks_find_sse2;
}

#else

marks_find *marks_finder(void)
{
    return marks_find_none;
}

#endif
