/* SPDX-License-Identifier: MIT
 *
 * The blocked layout with AVX-512: a block is one register, and each slice of a product has a lane
 * of 64 bits. The upper three bits of a slice pick a word of the block, the lower six a bit in it;
 * permute and rotate look at no more bits than these, so nothing needs masking.
 */
#include <immintrin.h>
#include <string.h>

#define KERNEL_TARGET __attribute__((target("avx512f,bmi,bmi2,popcnt"))) SHARED_WIDE_LOADS
#include "kernel/blocked.h"
#include "kernel/blocked_part.h"
#include "kernel/blocked_ring.h"
#include "kernel/blocked_set.h"

/* The lanes of the first `slices` slices whose bit is zero. */
KERNEL_INLINE unsigned absent(__m512i block, uint64_t product, unsigned slices)
{
    const __m512i to_bit = _mm512_setr_epi64(55, 46, 37, 28, 19, 10, 0, 0);
    const __m512i to_word = _mm512_setr_epi64(61, 52, 43, 34, 25, 16, 0, 0);
    const __m512i one = _mm512_setr_epi64(1, 1, 1, 1, 1, 1, 0, 0);
    __m512i lanes = _mm512_set1_epi64((long long)product);
    __m512i words = _mm512_permutexvar_epi64(_mm512_srlv_epi64(lanes, to_word), block);
    __m512i bits = _mm512_rolv_epi64(one, _mm512_srlv_epi64(lanes, to_bit));
    return _bzhi_u32(_mm512_testn_epi64_mask(words, bits), slices);
}

/* k <= PROBE_SLICES */
KERNEL_INLINE bool test_product(const uint8_t *at, unsigned k, uint64_t digest)
{
    return absent(_mm512_loadu_si512(at), digest * PROBE_MULTIPLIER, k) == 0;
}

KERNEL_INLINE bool test_products(const uint8_t *at, unsigned k, uint64_t digest)
{
    const __m512i block = _mm512_loadu_si512(at);
    uint64_t product = digest * PROBE_MULTIPLIER;
    unsigned none = absent(block, product, PROBE_SLICES);
    for (k -= PROBE_SLICES; k > PROBE_SLICES; k -= PROBE_SLICES)
        none |= absent(block, product *= PROBE_MULTIPLIER, PROBE_SLICES);
    return (none | absent(block, product * PROBE_MULTIPLIER, k)) == 0;
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

KERNEL_INLINE void find_lacks(uint8_t *block, const uint64_t *wanted, uint8_t key,
                              struct kernel_lacks *lacks)
{
    const __m512i offsets = _mm512_setr_epi64(0, 8, 16, 24, 32, 40, 48, 56);
    __m512i words = _mm512_add_epi64(_mm512_set1_epi64((long long)(uintptr_t)block), offsets);
    __m512i bits = _mm512_andnot_si512(_mm512_load_si512(block), _mm512_loadu_si512(wanted));
    __mmask8 lacking = _mm512_test_epi64_mask(bits, bits);
    const size_t count = lacks->count;
    _mm512_storeu_si512(lacks->bits + count, _mm512_maskz_compress_epi64(lacking, bits));
    _mm512_storeu_si512(lacks->word + count, _mm512_maskz_compress_epi64(lacking, words));
    memset(lacks->key + count, key, KERNEL_WORDS);
    lacks->count = count + (unsigned)__builtin_popcount(lacking);
}

KERNEL_TARGET static void add_shared(uint8_t *body, uint64_t blocks, unsigned k,
                                     const uint64_t *digests, size_t n, bool *was_new,
                                     struct kernel_change *change)
{
    kernel_set(body, blocks, k, digests, n, was_new, change, find_lacks);
}

const struct kernel kernel_avx512_blocked =
    KERNEL_BLOCKED("avx512", contains, contains_many, add_part, add_shared);
