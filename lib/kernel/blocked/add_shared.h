/* SPDX-License-Identifier: MIT
 *
 * Adds in the blocked layout to a body that others read, and change if the adder is not alone,
 * whatever the instructions. The including file has included kernel/blocked/lookup.h.
 *
 * An atomic change waits for all that was begun before it and holds up all that comes after. So a
 * group of keys is looked at first, which finds the words that lack bits, without a branch that
 * depends on them; then these words are changed, one right after the other.
 */
#ifndef BLOOMFILE_KERNEL_BLOCKED_ADD_SHARED_H
#define BLOOMFILE_KERNEL_BLOCKED_ADD_SHARED_H

#include <string.h>

#include "kernel/blocked/lookup.h"

#define KERNEL_WORDS (PROBE_BLOCK_BYTES / 8) /* of a block */
#define KERNEL_GROUP 16                      /* keys looked at before their words are changed */
#define KERNEL_LOOK  8 /* groups, in which none was repeated, to the next look */

/* Words that lacked bits when read. */
struct kernel_lacks {
    size_t count;
    uint8_t *word[KERNEL_GROUP * KERNEL_WORDS];
    uint64_t bits[KERNEL_GROUP * KERNEL_WORDS];
    uint8_t key[KERNEL_GROUP * KERNEL_WORDS];
};

/* kernel_want() gives the bits of a key in the words of its block; kernel_find_lacks() appends the
 * words of the block that lack some of them. */

#ifdef BLOOMFILE_BLOCK_AVX512

/* The bits of the first `slices` slices of a product, each in its word. They stay in registers:
 * what is stored in pieces cannot be loaded as one without waiting. */
KERNEL_INLINE __m512i kernel_want_slices(uint64_t product, unsigned slices)
{
    const __m512i places = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i to_bit = _mm512_setr_epi64(55, 46, 37, 28, 19, 10, 0, 0);
    const __m512i to_word = _mm512_setr_epi64(61, 52, 43, 34, 25, 16, 0, 0);
    const __m512i lanes = _mm512_set1_epi64((long long)product), seven = _mm512_set1_epi64(7);
    const __m512i words = _mm512_and_si512(_mm512_srlv_epi64(lanes, to_word), seven);
    const __m512i bits = _mm512_maskz_rolv_epi64(
        (__mmask8)((1u << slices) - 1), _mm512_set1_epi64(1), _mm512_srlv_epi64(lanes, to_bit));
    __m512i wanted = _mm512_setzero_si512();
#pragma GCC unroll 6
    for (int i = 0; i < 6; i++) {
        const __m512i lane = _mm512_set1_epi64(i);
        const __mmask8 word =
            _mm512_cmpeq_epi64_mask(places, _mm512_permutexvar_epi64(lane, words));
        wanted = _mm512_mask_or_epi64(wanted, word, wanted, _mm512_permutexvar_epi64(lane, bits));
    }
    return wanted;
}

KERNEL_INLINE __m512i kernel_want_block(unsigned k, uint64_t digest)
{
    __m512i wanted = _mm512_setzero_si512();
    for (; k > PROBE_SLICES; k -= PROBE_SLICES)
        wanted =
            _mm512_or_si512(wanted, kernel_want_slices(digest *= PROBE_MULTIPLIER, PROBE_SLICES));
    return _mm512_or_si512(wanted, kernel_want_slices(digest * PROBE_MULTIPLIER, k));
}

KERNEL_INLINE void kernel_want(uint64_t *wanted, unsigned k, uint64_t digest)
{
    _mm512_storeu_si512(wanted, kernel_want_block(k, digest));
}

KERNEL_INLINE void kernel_find_lacks(uint8_t *block, unsigned k, uint64_t digest, uint8_t key,
                                     struct kernel_lacks *lacks)
{
    const __m512i offsets = _mm512_setr_epi64(0, 8, 16, 24, 32, 40, 48, 56);
    const __m512i words = _mm512_add_epi64(_mm512_set1_epi64((long long)(uintptr_t)block), offsets);
    const __m512i bits =
        _mm512_andnot_si512(_mm512_load_si512(block), kernel_want_block(k, digest));
    const __mmask8 lacking = _mm512_test_epi64_mask(bits, bits);
    const size_t count = lacks->count;
    _mm512_storeu_si512(lacks->bits + count, _mm512_maskz_compress_epi64(lacking, bits));
    _mm512_storeu_si512(lacks->word + count, _mm512_maskz_compress_epi64(lacking, words));
    memset(lacks->key + count, key, KERNEL_WORDS);
    lacks->count = count + (unsigned)__builtin_popcount(lacking);
}

#else

KERNEL_INLINE void kernel_want(uint64_t *wanted, unsigned k, uint64_t digest)
{
    memset(wanted, 0, PROBE_BLOCK_BYTES);
    uint64_t product = digest;
    for (unsigned left = k; left > 0;) {
        const unsigned slices = left < PROBE_SLICES ? left : PROBE_SLICES;
        product *= PROBE_MULTIPLIER;
        for (unsigned i = 0; i < slices; i++) {
            unsigned bit = probe_slice(product, i);
            wanted[bit / 64] |= 1ULL << bit % 64;
        }
        left -= slices;
    }
}

KERNEL_INLINE void kernel_find_lacks(uint8_t *block, unsigned k, uint64_t digest, uint8_t key,
                                     struct kernel_lacks *lacks)
{
    uint64_t wanted[KERNEL_WORDS];
    size_t count = lacks->count;
    kernel_want(wanted, k, digest);
#pragma GCC unroll 8
    for (unsigned w = 0; w < KERNEL_WORDS; w++) {
        uint64_t bits = wanted[w] & ~shared_load64(block + 8 * w);
        lacks->word[count] = block + 8 * w;
        lacks->bits[count] = bits;
        lacks->key[count] = key;
        count += bits != 0;
    }
    lacks->count = count;
}

#endif

KERNEL_INLINE uint8_t *kernel_block_in(uint8_t *body, uint64_t blocks, uint64_t digest)
{
    return body + PROBE_BLOCK_BYTES * probe_reduce(digest, blocks);
}

/* kernel_find_lacks() of those of a group that are not there. Returns whether any is. */
KERNEL_TARGET static __attribute__((noinline)) bool
kernel_find_new(uint8_t *body, uint64_t blocks, unsigned k, const uint64_t *digests, size_t n,
                struct kernel_lacks *lacks)
{
    uint8_t key[KERNEL_GROUP];
    size_t lacking = 0;
    for (size_t j = 0; j < n; j++) {
        key[lacking] = (uint8_t)j;
        lacking += !bloomfile_block_has(kernel_block_in(body, blocks, digests[j]), k, digests[j]);
    }
    for (size_t j = 0; j < lacking; j++)
        kernel_find_lacks(kernel_block_in(body, blocks, digests[key[j]]), k, digests[key[j]],
                          key[j], lacks);
    return lacking < n;
}

/* Sets the bits; keys that set one are new. Requests the lines of the `n` digests from `next` on
 * meanwhile, one after each change: a burst of requests and the changes would wait for each
 * other. */
KERNEL_INLINE void kernel_set_lacks(const struct kernel_lacks *lacks, bool *is_new,
                                    struct kernel_change *change, const struct kernel_view *view,
                                    const uint64_t *next, size_t n)
{
    size_t requested = 0;
    for (size_t i = 0; i < lacks->count; i++) {
        uint64_t made = shared_set64(lacks->word[i], lacks->bits[i]);
        change->ones += __builtin_popcountll(made);
        is_new[lacks->key[i]] |= made != 0;
        if (requested < n)
            kernel_request(view, next[requested++]);
    }
    while (requested < n)
        kernel_request(view, next[requested++]);
}

/* One key, which is there already at the least cost. Returns whether it set a bit. */
KERNEL_INLINE bool kernel_set_one(uint8_t *block, unsigned k, uint64_t digest,
                                  struct kernel_change *change)
{
    struct kernel_lacks lacks;
    int64_t ones = 0;
    __builtin_prefetch(block, 1); /* to be written */
    if (bloomfile_block_has(block, k, digest))
        return false;
    lacks.count = 0;
    kernel_find_lacks(block, k, digest, 0, &lacks);
    for (size_t i = 0; i < lacks.count; i++)
        ones += __builtin_popcountll(shared_set64(lacks.word[i], lacks.bits[i]));
    change->ones += ones;
    change->keys += ones != 0;
    return ones != 0;
}

KERNEL_TARGET static void add_shared(uint8_t *body, uint64_t blocks, unsigned k,
                                     const uint64_t *digests, size_t n, bool *was_new,
                                     struct kernel_change *change)
{
    const struct kernel_view view = { .body = body, .units = blocks, .k = k };
    struct kernel_lacks lacks;
    bool repeated = true;
    if (n == 1) {
        uint8_t *block = kernel_block_in(body, blocks, digests[0]);
        const bool is_new = kernel_set_one(block, k, digests[0], change);
        if (was_new != NULL)
            *was_new = is_new;
        return;
    }
    for (size_t i = 0; i < n && i < KERNEL_RING; i++)
        kernel_request(&view, digests[i]);
    /* A look beforehand takes a tenth of the time of an add, and saves two thirds of that of a
     * repeated one: while there are none, only some of the groups are looked at. */
    for (size_t start = 0; start < n; start += KERNEL_GROUP) {
        const size_t count = n - start < KERNEL_GROUP ? n - start : KERNEL_GROUP;
        const size_t next = start + KERNEL_RING < n ? start + KERNEL_RING : n;
        const size_t ahead = n - next < KERNEL_GROUP ? n - next : KERNEL_GROUP;
        bool is_new[KERNEL_GROUP] = { false };
        lacks.count = 0;
        if (!repeated && start % (KERNEL_GROUP * KERNEL_LOOK) != 0)
            for (size_t j = 0; j < count; j++)
                kernel_find_lacks(kernel_block_in(body, blocks, digests[start + j]), k,
                                  digests[start + j], (uint8_t)j, &lacks);
        else
            repeated = kernel_find_new(body, blocks, k, digests + start, count, &lacks);
        kernel_set_lacks(&lacks, is_new, change, &view, digests + next, ahead);
        for (size_t j = 0; j < count; j++) {
            if (was_new != NULL)
                was_new[start + j] = is_new[j];
            change->keys += is_new[j];
        }
    }
}

/* ---- by a sole adder, whose plain stores cost no more than loads */

KERNEL_INLINE bool kernel_set_alone(uint8_t *block, unsigned k, uint64_t digest,
                                    struct kernel_change *change)
{
    uint64_t wanted[KERNEL_WORDS];
    int64_t ones = 0;
    if (bloomfile_block_has(block, k, digest))
        return false;
    kernel_want(wanted, k, digest);
#pragma GCC unroll 8
    for (unsigned w = 0; w < KERNEL_WORDS; w++)
        ones += __builtin_popcountll(shared_set64_alone(block + 8 * w, wanted[w]));
    change->ones += ones;
    change->keys++;
    return true;
}

KERNEL_TARGET static void add_alone(uint8_t *body, uint64_t blocks, unsigned k,
                                    const uint64_t *digests, size_t n, bool *was_new,
                                    struct kernel_change *change)
{
    const struct kernel_view view = { .body = body, .units = blocks, .k = k };
    for (size_t i = 0; i < n && i < KERNEL_RING; i++)
        kernel_request(&view, digests[i]);
    for (size_t i = 0; i < n; i++) {
        if (i + KERNEL_RING < n)
            kernel_request(&view, digests[i + KERNEL_RING]);
        uint8_t *block = kernel_block_in(body, blocks, digests[i]);
        const bool is_new = kernel_set_alone(block, k, digests[i], change);
        if (was_new != NULL)
            was_new[i] = is_new;
    }
}

#endif
