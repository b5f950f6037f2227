/* SPDX-License-Identifier: MIT
 * The blocked layout with AVX-512: a block is one register. */
#include <immintrin.h>
#include <string.h>

#define KERNEL_TARGET __attribute__((target("avx512f,bmi,bmi2,popcnt"))) SHARED_WIDE_LOADS
#define BLOOMFILE_BLOCK_AVX512
#include "kernel/blocked.h"
#include "kernel/blocked_lookup.h"
#include "kernel/blocked_part.h"
#include "kernel/blocked_set.h"

/* The bits of `slices` slices of a product, each in its word: what was stored in pieces could not
 * be loaded as one register without waiting. */
KERNEL_INLINE __m512i want(uint64_t product, unsigned slices)
{
    const __m512i words = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i wanted = _mm512_setzero_si512();
    for (unsigned i = 0; i < slices; i++) {
        const unsigned bit = probe_slice(product, i);
        const __mmask8 word = _mm512_cmpeq_epi64_mask(words, _mm512_set1_epi64(bit / 64));
        const __m512i one = _mm512_set1_epi64((long long)(1ULL << bit % 64));
        wanted = _mm512_mask_or_epi64(wanted, word, wanted, one);
    }
    return wanted;
}

KERNEL_INLINE void find_lacks(uint8_t *block, unsigned k, uint64_t digest, uint8_t key,
                              struct kernel_lacks *lacks)
{
    const __m512i offsets = _mm512_setr_epi64(0, 8, 16, 24, 32, 40, 48, 56);
    const __m512i words = _mm512_add_epi64(_mm512_set1_epi64((long long)(uintptr_t)block), offsets);
    __m512i wanted = _mm512_setzero_si512();
    for (; k > PROBE_SLICES; k -= PROBE_SLICES)
        wanted = _mm512_or_si512(wanted, want(digest *= PROBE_MULTIPLIER, PROBE_SLICES));
    wanted = _mm512_or_si512(wanted, want(digest * PROBE_MULTIPLIER, k));
    const __m512i bits = _mm512_andnot_si512(_mm512_load_si512(block), wanted);
    const __mmask8 lacking = _mm512_test_epi64_mask(bits, bits);
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
