/* SPDX-License-Identifier: MIT
 *
 * The blocked layout with AVX2: a block is two registers of 8 words of 32 bits, and each slice of a
 * product has a lane of that width. The top bit of a slice picks the register, the next three a
 * word in it, the lower five a bit in that.
 *
 * Three slices lie within the upper half of a product, the others within the 32 bits from bit 10
 * on, which a shift brings into place.
 */
#include <immintrin.h>

#define KERNEL_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt"))) SHARED_WIDE_LOADS
#include "kernel/blocked.h"
#include "kernel/blocked_part.h"
#include "kernel/blocked_ring.h"
#include "kernel/blocked_set.h"

struct block {
    __m256i low, high;
};

KERNEL_INLINE struct block load(const uint8_t *at)
{
    return (struct block){ _mm256_loadu_si256((const __m256i *)(const void *)at),
                           _mm256_loadu_si256((const __m256i *)(const void *)(at + 32)) };
}

/* Bit i is set if the bit of slice i, up to `slices`, is. */
KERNEL_INLINE unsigned present(struct block block, uint64_t product, unsigned slices)
{
    const __m256i to_bit = _mm256_setr_epi32(23, 14, 5, 18, 9, 0, 0, 0);
    const __m256i to_word = _mm256_setr_epi32(28, 19, 10, 23, 14, 5, 5, 5);
    const __m256i to_sign = _mm256_setr_epi32(0, 9, 18, 5, 14, 23, 23, 23);
    __m256i upper = _mm256_set1_epi32((int)(product >> 32));
    __m256i lower = _mm256_set1_epi32((int)(uint32_t)(product >> 10));
    __m256i lanes = _mm256_blend_epi32(lower, upper, 7);

    __m256i word = _mm256_srlv_epi32(lanes, to_word);
    __m256 low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(block.low, word));
    __m256 high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(block.high, word));
    __m256 half = _mm256_castsi256_ps(_mm256_sllv_epi32(lanes, to_sign));
    __m256i words = _mm256_castps_si256(_mm256_blendv_ps(low, high, half));

    /* 31 minus the lower five bits of the slice: the distance of the bit from the sign. */
    __m256i below = _mm256_andnot_si256(_mm256_srlv_epi32(lanes, to_bit), _mm256_set1_epi32(31));
    __m256i signs = _mm256_sllv_epi32(words, below);
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(signs)) & ((1u << slices) - 1);
}

KERNEL_INLINE bool test_product(const uint8_t *at, unsigned k, uint64_t digest)
{
    return present(load(at), digest * PROBE_MULTIPLIER, k) == (1u << k) - 1;
}

KERNEL_INLINE bool test_products(const uint8_t *at, unsigned k, uint64_t digest)
{
    const struct block block = load(at);
    uint64_t product = digest * PROBE_MULTIPLIER;
    unsigned all = present(block, product, PROBE_SLICES);
    for (k -= PROBE_SLICES; k > PROBE_SLICES; k -= PROBE_SLICES)
        all &= present(block, product *= PROBE_MULTIPLIER, PROBE_SLICES);
    const unsigned last = present(block, product * PROBE_MULTIPLIER, k);
    return all == (1u << PROBE_SLICES) - 1 && last == (1u << k) - 1;
}

KERNEL_TARGET static bool contains(const struct kernel_view *view, uint64_t digest)
{
    const uint8_t *block = kernel_block(view, digest);
    return kernel_answer(view, view->k <= PROBE_SLICES ? test_product(block, view->k, digest)
                                                       : test_products(block, view->k, digest));
}

KERNEL_TARGET static size_t contains_many(const struct kernel_view *view, const uint64_t *digests,
                                          size_t n, bool *hits)
{
    return view->k <= PROBE_SLICES ? kernel_ring(view, digests, n, hits, test_product)
                                   : kernel_ring(view, digests, n, hits, test_products);
}

KERNEL_TARGET static void add_shared(uint8_t *body, uint64_t blocks, unsigned k,
                                     const uint64_t *digests, size_t n, bool *was_new,
                                     struct kernel_change *change)
{
    kernel_set(body, blocks, k, digests, n, was_new, change, kernel_find_lacks_scalar);
}

const struct kernel kernel_avx2_blocked =
    KERNEL_BLOCKED("avx2", contains, contains_many, add_part, add_shared);
