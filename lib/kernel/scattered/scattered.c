/* SPDX-License-Identifier: MIT
 * The kernels of the classic and counting layouts, and their lookups. */
#include "kernel/scattered/rounds.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#ifndef BLOOMFILE_NO_BUILD
#define BUILDING_CLASSIC                                                                           \
    .add_part = kernel_add_part_classic, .put = kernel_put_classic, .fold = kernel_fold_classic,
#define BUILDING_COUNTING                                                                          \
    .add_part = kernel_add_part_counting, .put = kernel_put_counting,                              \
    .fold = kernel_fold_counting, .project = kernel_project_counting,
#else
#define BUILDING_CLASSIC
#define BUILDING_COUNTING
#endif
#ifndef BLOOMFILE_NO_LIVE
#define ADDING_CLASSIC                                                                             \
    .add_shared = kernel_add_shared_classic, .add_alone = kernel_add_alone_classic,
#define ADDING_COUNTING                                                                            \
    .add_shared = kernel_add_shared_counting, .remove_shared = kernel_remove_shared_counting,
#else
#define ADDING_CLASSIC
#define ADDING_COUNTING
#endif

/* The kernels of a layout differ only in their lookups. */
#define KERNEL_CLASSIC(its_name, its_contains, its_contains_many)                                  \
    {                                                                                              \
        .name = (its_name), .density = KERNEL_BITS, .contains = (its_contains),                    \
        .contains_many = (its_contains_many), .contains_ready = (its_contains_many),               \
        .expect = expect_classic, .tally = kernel_tally_classic, .count = kernel_tally_classic,    \
        BUILDING_CLASSIC ADDING_CLASSIC                                                            \
    }
#define KERNEL_COUNTING(its_name, its_contains, its_contains_many)                                 \
    {                                                                                              \
        .name = (its_name), .density = KERNEL_COUNTERS, .contains = (its_contains),                \
        .contains_many = (its_contains_many), .contains_ready = (its_contains_many),               \
        .expect = expect_counting, .tally = kernel_tally_counting, .count = kernel_tally_counting, \
        BUILDING_COUNTING ADDING_COUNTING                                                          \
    }

/* In a cached body, testing all positions is cheaper than a mispredicted branch: an absent key of a
 * classic filter of 40 keys takes 5.8 ns, with a branch after each position 13.7. In a larger body
 * each position is a cache miss, so the first clear position ends the lookup. */
static inline bool contains(const struct kernel_view *view, enum kernel_density density,
                            uint64_t digest)
{
    const uint8_t *body = view->body;
    const uint64_t units = view->units;
    uint64_t g = digest;
    bool all = true;
    if (units > (uint64_t)density * KERNEL_CACHED_BYTES)
        return kernel_rounds_one(view, density, digest, kernel_rounds_set, NULL);
    for (unsigned left = view->k; left > 0; left--, g *= PROBE_MULTIPLIER)
        all &= kernel_is_set(body, density, probe_reduce(g, units));
    return all;
}

static bool contains_classic(const struct kernel_view *view, uint64_t digest)
{
    return contains(view, KERNEL_BITS, digest);
}

static inline void next_round(const struct kernel_view *view, enum kernel_density density,
                              struct kernel_runners *r, unsigned width, void *unused)
{
    kernel_rounds_next(view, density, r, width, kernel_rounds_set, unused);
}

/* Aligned: the time of the loop varies by 20% with its offset in a cache line of code. */
#define IN_PLACE __attribute__((aligned(64)))

IN_PLACE static size_t contains_many_classic(const struct kernel_view *view,
                                             const uint64_t *digests, size_t n, bool *hits)
{
    if (n < KERNEL_ROUNDS_LEAST)
        return kernel_rounds_each(view, digests, n, hits, contains_classic);
    return kernel_rounds(view, KERNEL_BITS, digests, n, hits, true, next_round, NULL);
}

static void expect_classic(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    for (size_t i = 0; i < n; i++)
        kernel_rounds_request(view, KERNEL_BITS, digests[i], 1);
}

static bool contains_counting(const struct kernel_view *view, uint64_t digest)
{
    return contains(view, KERNEL_COUNTERS, digest);
}

IN_PLACE static size_t contains_many_counting(const struct kernel_view *view,
                                              const uint64_t *digests, size_t n, bool *hits)
{
    if (n < KERNEL_ROUNDS_LEAST)
        return kernel_rounds_each(view, digests, n, hits, contains_counting);
    return kernel_rounds(view, KERNEL_COUNTERS, digests, n, hits, true, next_round, NULL);
}

static void expect_counting(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    for (size_t i = 0; i < n; i++)
        kernel_rounds_request(view, KERNEL_COUNTERS, digests[i], 1);
}

const struct kernel kernel_classic_scalar =
    KERNEL_CLASSIC("scalar", contains_classic, contains_many_classic);
const struct kernel kernel_counting_scalar =
    KERNEL_COUNTING("scalar", contains_counting, contains_many_counting);

#ifdef __x86_64__

/* ---- AVX-512: eight positions of one key, or one position of eight keys
 *
 * In bodies larger than the caches the scalar code is faster, because a gather waits for all of its
 * lines: a present key of 10^8 takes 33 ns, scalar 22. */

#define TARGET                                                                                     \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi,bmi2,popcnt"))) SHARED_WIDE_LOADS
#define INLINE TARGET static inline __attribute__((always_inline))
#define LANES  8
#define TINY   64 /* bytes: a body up to this size fits in one register */
#define WORD   8  /* bytes that a gather loads for each position; smaller bodies use scalar code */

static inline uint64_t bytes_of(const struct kernel_view *view, enum kernel_density density)
{
    return (view->units + density - 1) / density;
}

/* Returns a mask of the products whose positions are set.
 *
 * The position is floor(g * units / 2^64). Because units is below 2^32, two products of 32 bits
 * (VPMULUDQ) give it exactly: floor((gh * units + floor(gl * units / 2^32)) / 2^32), where gh and
 * gl are the halves of g. A body of up to 64 bytes is in a register, and VPERMQ picks the word of
 * each position. In a larger body VPGATHERQQ loads eight bytes, beginning with that of the
 * position, or the last eight of the body. */
INLINE __mmask8 are_set(const struct kernel_view *view, enum kernel_density density, __m512i g,
                        bool tiny)
{
    const uint64_t size = bytes_of(view, density);
    const __m512i units = _mm512_set1_epi64((long long)view->units);
    const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(g, 32), units);
    const __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(g, units), 32);
    const __m512i x = _mm512_srli_epi64(_mm512_add_epi64(high, low), 32);
    const __m512i bit = _mm512_slli_epi64(x, density == KERNEL_BITS ? 0 : 2);
    const __m512i cell = _mm512_set1_epi64(density == KERNEL_BITS ? 1 : 15);
    if (tiny) {
        const __m512i body = _mm512_maskz_loadu_epi8(UINT64_MAX >> (TINY - size), view->body);
        const __m512i words = _mm512_permutexvar_epi64(_mm512_srli_epi64(bit, 6), body);
        return _mm512_test_epi64_mask(words, _mm512_rolv_epi64(cell, bit));
    }
    const __m512i last = _mm512_set1_epi64((long long)(size - WORD));
    const __m512i byte = _mm512_min_epu64(_mm512_srli_epi64(bit, 3), last);
    const __m512i words = _mm512_i64gather_epi64(byte, view->body, 1);
    const __m512i shift = _mm512_sub_epi64(bit, _mm512_slli_epi64(byte, 3));
    return _mm512_test_epi64_mask(words, _mm512_sllv_epi64(cell, shift));
}

/* ---- one key, with AVX-512: products g, gC, ... gC^7 are made by one vector multiplication */

#define C  PROBE_MULTIPLIER
#define C2 (C * C)
#define C4 (C2 * C2)

INLINE bool has_all(const struct kernel_view *view, enum kernel_density density, uint64_t digest,
                    bool tiny)
{
    static const uint64_t powers[LANES] = { 1, C, C2, C * C2, C4, C * C4, C2 * C4, C * C2 * C4 };
    const __m512i first = _mm512_set1_epi64((long long)digest);
    __m512i g = _mm512_mullo_epi64(first, _mm512_loadu_si512(powers));
    unsigned missing = 0, left = view->k;
    for (; left > LANES; left -= LANES) {
        missing |= ~are_set(view, density, g, tiny) & 0xFFu;
        g = _mm512_mullo_epi64(g, _mm512_set1_epi64((long long)(C4 * C4)));
    }
    missing |= ~are_set(view, density, g, tiny) & 0xFFu >> (LANES - left);
    return missing == 0;
}

INLINE bool avx512_contains(const struct kernel_view *view, enum kernel_density density,
                            uint64_t digest, const struct kernel *scalar)
{
    if (view->units <= (uint64_t)density * TINY)
        return has_all(view, density, digest, true);
    if (view->k <= LANES / 2) /* a gather of few positions takes as long as a gather of eight */
        return scalar->contains(view, digest);
    if (view->units <= (uint64_t)density * KERNEL_CACHED_BYTES)
        return has_all(view, density, digest, false);
    return kernel_rounds_one(view, density, digest, kernel_rounds_set, NULL);
}

TARGET static bool avx512_contains_classic(const struct kernel_view *view, uint64_t digest)
{
    return avx512_contains(view, KERNEL_BITS, digest, &kernel_classic_scalar);
}

TARGET static bool avx512_contains_counting(const struct kernel_view *view, uint64_t digest)
{
    return avx512_contains(view, KERNEL_COUNTERS, digest, &kernel_counting_scalar);
}

/* ---- many keys, with AVX-512. VPCOMPRESSQ moves the keys that go on to the front. */

INLINE void gather_round(const struct kernel_view *view, enum kernel_density density,
                         struct kernel_runners *r, unsigned width)
{
    size_t left = 0;
    for (size_t j = 0; j < r->count; j += LANES) {
        const size_t rest = r->count - j;
        __mmask8 all = (__mmask8)(rest < LANES ? (1u << rest) - 1 : 0xFFu);
        __m512i g = _mm512_maskz_loadu_epi64(all, r->g + j);
        const __m256i key = _mm256_maskz_loadu_epi32(all, r->key + j);
        for (unsigned i = 0; i < width; i++) {
            all = (__mmask8)(all & are_set(view, density, g, false));
            g = _mm512_mullo_epi64(g, _mm512_set1_epi64((long long)C));
        }
        _mm512_storeu_si512(r->g + left, _mm512_maskz_compress_epi64(all, g));
        _mm256_storeu_si256((void *)(r->key + left), _mm256_maskz_compress_epi32(all, key));
        left += (unsigned)__builtin_popcount(all);
    }
    r->count = left;
}

TARGET static void avx512_next_round(const struct kernel_view *view, enum kernel_density density,
                                     struct kernel_runners *r, unsigned width, void *unused)
{
    (void)unused;
    if (density == KERNEL_BITS)
        gather_round(view, KERNEL_BITS, r, width);
    else
        gather_round(view, KERNEL_COUNTERS, r, width);
}

static inline bool can_gather(const struct kernel_view *view, enum kernel_density density)
{
    const uint64_t size = bytes_of(view, density);
    return size >= WORD && size <= KERNEL_CACHED_BYTES;
}

static size_t avx512_contains_many_classic(const struct kernel_view *view, const uint64_t *digests,
                                           size_t n, bool *hits)
{
    if (n < KERNEL_ROUNDS_LEAST)
        return kernel_rounds_each(view, digests, n, hits, avx512_contains_classic);
    if (!can_gather(view, KERNEL_BITS))
        return kernel_classic_scalar.contains_many(view, digests, n, hits);
    return kernel_rounds(view, KERNEL_BITS, digests, n, hits, true, avx512_next_round, NULL);
}

static size_t avx512_contains_many_counting(const struct kernel_view *view, const uint64_t *digests,
                                            size_t n, bool *hits)
{
    if (n < KERNEL_ROUNDS_LEAST)
        return kernel_rounds_each(view, digests, n, hits, avx512_contains_counting);
    if (!can_gather(view, KERNEL_COUNTERS))
        return kernel_counting_scalar.contains_many(view, digests, n, hits);
    return kernel_rounds(view, KERNEL_COUNTERS, digests, n, hits, true, avx512_next_round, NULL);
}

const struct kernel kernel_classic_avx512 =
    KERNEL_CLASSIC("avx512", avx512_contains_classic, avx512_contains_many_classic);
const struct kernel kernel_counting_avx512 =
    KERNEL_COUNTING("avx512", avx512_contains_counting, avx512_contains_many_counting);

#endif
