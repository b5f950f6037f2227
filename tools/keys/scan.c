/* SPDX-License-Identifier: MIT
 * Searches for line ends and field delimiters, with SSE2, AVX2 and BMI2, or with memchr(). */
#include "keys/scan.h"

#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

size_t scan_find_none(const uint8_t *at, const uint8_t *end, uint8_t wanted,
                      struct bloomfile_key *keys, size_t max)
{
    (void)at;
    (void)end;
    (void)wanted;
    (void)keys;
    (void)max;
    return 0;
}

size_t scan_pick_plain(const uint8_t *at, const uint8_t *end, const uint8_t *limit, uint8_t wanted,
                       const uint32_t *numbers, size_t count, const uint8_t **found)
{
    uint32_t number = 0;
    (void)limit;
    for (size_t i = 0; i < count; at = found[i++] + 1) {
        for (; number < numbers[i]; number++) {
            found[i] = memchr(at, wanted, (size_t)(end - at));
            if (found[i] == NULL)
                return i;
            at = found[i] + 1;
        }
    }
    return count;
}

#ifdef __SSE2__

enum {
    AT_ONCE = 2 /* slots that are written for each block, even if it has fewer matches */
};
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define AVX2          __attribute__((target("avx2,bmi,popcnt")))
#define PDEP          __attribute__((target("avx2,bmi,bmi2,popcnt")))

/* Bit i is set where block[i] equals `wanted`. */
ALWAYS_INLINE uint64_t matches_sse2(const uint8_t *block, uint8_t wanted)
{
    const __m128i all_wanted = _mm_set1_epi8((char)wanted);
    uint64_t found = 0;
    for (unsigned i = 0; i < SCAN_BLOCK / sizeof(all_wanted); i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)block + i);
        uint32_t bits = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, all_wanted));
        found |= (uint64_t)bits << (i * sizeof(all_wanted));
    }
    return found;
}

AVX2 ALWAYS_INLINE uint64_t matches_avx2(const uint8_t *block, uint8_t wanted)
{
    const __m256i all_wanted = _mm256_set1_epi8((char)wanted);
    uint64_t found = 0;
    for (unsigned i = 0; i < SCAN_BLOCK / sizeof(all_wanted); i++) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)block + i);
        uint32_t bits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, all_wanted));
        found |= (uint64_t)bits << (i * sizeof(all_wanted));
    }
    return found;
}

/* Sets *key to the bytes from `start` to the block's first match. Returns where the next key
 * begins. */
ALWAYS_INLINE const uint8_t *key_before(struct bloomfile_key *key, const uint8_t *start,
                                        const uint8_t *block, uint64_t matches)
{
    const uint8_t *found = block + __builtin_ctzll(matches | 1ULL << (SCAN_BLOCK - 1));
    *key = (struct bloomfile_key){ start, (size_t)(found - start) };
    return found + 1;
}

/* The positions of matches are unpredictable, so the code does not branch on them until a block has
 * more than AT_ONCE matches. */
ALWAYS_INLINE size_t find_by(uint64_t (*matches_in)(const uint8_t *, uint8_t), const uint8_t *at,
                             const uint8_t *end, uint8_t wanted, struct bloomfile_key *keys,
                             size_t max)
{
    const uint8_t *start = at;
    size_t n = 0;
    for (; end - at >= SCAN_BLOCK && max - n >= AT_ONCE; at += SCAN_BLOCK) {
        const uint64_t all = matches_in(at, wanted);
        const size_t last = n + (size_t)__builtin_popcountll(all);
        const uint8_t *next = start;
        uint64_t matches = all;
        for (unsigned i = 0; i < AT_ONCE; i++, matches &= matches - 1)
            next = key_before(&keys[n + i], next, at, matches);
        for (size_t i = n + AT_ONCE; matches != 0 && i < max; i++, matches &= matches - 1)
            next = key_before(&keys[i], next, at, matches);
        start = all != 0 ? at + SCAN_BLOCK - __builtin_clzll(all) : start;
        n = last < max ? last : max;
    }
    return n;
}

size_t scan_find_sse2(const uint8_t *at, const uint8_t *end, uint8_t wanted,
                      struct bloomfile_key *keys, size_t max)
{
    return find_by(matches_sse2, at, end, wanted, keys, max);
}

AVX2 size_t scan_find_avx2(const uint8_t *at, const uint8_t *end, uint8_t wanted,
                           struct bloomfile_key *keys, size_t max)
{
    return find_by(matches_avx2, at, end, wanted, keys, max);
}

/* The matches in the block at `at`, up to `end`. Does not read beyond `limit`. */
ALWAYS_INLINE uint64_t matches_before(uint64_t (*matches_in)(const uint8_t *, uint8_t),
                                      const uint8_t *at, const uint8_t *end, const uint8_t *limit,
                                      uint8_t wanted)
{
    uint8_t rest[SCAN_BLOCK] = { 0 };
    const size_t size = (size_t)(end - at);
    const uint8_t *block = at;
    if (limit - at < SCAN_BLOCK)
        block = memcpy(rest, at, size);
    const uint64_t matches = matches_in(block, wanted);
    return size < SCAN_BLOCK ? matches & ((UINT64_C(1) << size) - 1) : matches;
}

/* The position of the set bit that has `below` set bits below it. */
ALWAYS_INLINE unsigned bit_by_clearing(uint64_t bits, uint32_t below)
{
    for (; below > 0; below--)
        bits &= bits - 1;
    return (unsigned)__builtin_ctzll(bits);
}

ALWAYS_INLINE size_t pick_by(uint64_t (*matches_in)(const uint8_t *, uint8_t),
                             unsigned (*bit)(uint64_t, uint32_t), const uint8_t *at,
                             const uint8_t *end, const uint8_t *limit, uint8_t wanted,
                             const uint32_t *numbers, size_t count, const uint8_t **found)
{
    uint32_t before = 1; /* 1 + the number of matches in earlier blocks */
    size_t i = 0;
    for (; i < count && at < end; at += SCAN_BLOCK) {
        const uint64_t matches = matches_before(matches_in, at, end, limit, wanted);
        const uint32_t next = before + (uint32_t)__builtin_popcountll(matches);
        for (; i < count && numbers[i] < next; i++)
            found[i] = at + bit(matches, numbers[i] - before);
        before = next;
        if (end - at <= SCAN_BLOCK)
            break;
    }
    return i;
}

size_t scan_pick_sse2(const uint8_t *at, const uint8_t *end, const uint8_t *limit, uint8_t wanted,
                      const uint32_t *numbers, size_t count, const uint8_t **found)
{
    return pick_by(matches_sse2, bit_by_clearing, at, end, limit, wanted, numbers, count, found);
}

#ifdef __x86_64__

/* bit_by_clearing() without a loop: PDEP moves bit number `below` to the place of that set bit. */
PDEP ALWAYS_INLINE unsigned bit_by_deposit(uint64_t bits, uint32_t below)
{
    return (unsigned)__builtin_ctzll(_pdep_u64(UINT64_C(1) << below, bits));
}

/* For lines of at most two blocks. Which block has a match is unpredictable too, so the code does
 * not branch on it. */
PDEP ALWAYS_INLINE size_t pick_of_two(const uint8_t *at, size_t size, uint8_t wanted,
                                      const uint32_t *numbers, size_t count, const uint8_t **found)
{
    const uint64_t matches[2] = {
        _bzhi_u64(matches_avx2(at, wanted), (unsigned)size),
        _bzhi_u64(matches_avx2(at + SCAN_BLOCK, wanted),
                  size > SCAN_BLOCK ? (unsigned)size - SCAN_BLOCK : 0),
    };
    const uint32_t in_first = (uint32_t)__builtin_popcountll(matches[0]);
    const uint32_t in_both = in_first + (uint32_t)__builtin_popcountll(matches[1]);
    size_t i = 0;
    for (; i < count && numbers[i] <= in_both; i++) {
        const uint32_t block = numbers[i] > in_first;
        const uint32_t below = numbers[i] - 1 - block * in_first;
        found[i] = at + block * SCAN_BLOCK + bit_by_deposit(matches[block], below);
    }
    return i;
}

PDEP size_t scan_pick_pdep(const uint8_t *at, const uint8_t *end, const uint8_t *limit,
                           uint8_t wanted, const uint32_t *numbers, size_t count,
                           const uint8_t **found)
{
    if (end - at <= 2 * SCAN_BLOCK && limit - at >= 2 * SCAN_BLOCK)
        return pick_of_two(at, (size_t)(end - at), wanted, numbers, count, found);
    return pick_by(matches_avx2, bit_by_deposit, at, end, limit, wanted, numbers, count, found);
}

#endif

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("popcnt");
}

scan_find *scan_finder(void)
{
    return has_avx2() ? scan_find_avx2 : scan_find_sse2;
}

scan_pick *scan_picker(void)
{
#ifdef __x86_64__
    const bool is_slow = __builtin_cpu_is("znver1") || __builtin_cpu_is("znver2"); /* slow PDEP */
    if (has_avx2() && __builtin_cpu_supports("bmi2") && !is_slow)
        return scan_pick_pdep;
#endif
    return scan_pick_sse2;
}

#else

scan_find *scan_finder(void)
{
    return scan_find_none;
}

scan_pick *scan_picker(void)
{
    return scan_pick_plain;
}

#endif
