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
