/* SPDX-License-Identifier: MIT
 *
 * Batch adds in the blocked layout to a body that others change, whatever the instructions.
 *
 * An atomic change waits for all that was begun before it and holds up all that comes after. So a
 * group of keys is looked at first, which finds the words that lack bits, without a branch that
 * depends on them; then these words are changed, one right after the other.
 */
#ifndef BLOOMFILE_KERNEL_SET_H
#define BLOOMFILE_KERNEL_SET_H

#include "kernel/blocked_lookup.h"

#define KERNEL_WORDS (PROBE_BLOCK_BYTES / 8) /* of a block */
#define KERNEL_GROUP 16                      /* keys looked at before their words are changed */

/* Words that lacked bits when read. */
struct kernel_lacks {
    size_t count;
    uint8_t *word[KERNEL_GROUP * KERNEL_WORDS];
    uint64_t bits[KERNEL_GROUP * KERNEL_WORDS];
    uint8_t key[KERNEL_GROUP * KERNEL_WORDS];
};

/* The bits of a key, in the words of its block. */
KERNEL_INLINE void kernel_want(uint64_t *wanted, unsigned k, uint64_t digest)
{
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

/* Appends the words of a key's block that lack some of its bits. */
typedef void kernel_find_lacks(uint8_t *block, unsigned k, uint64_t digest, uint8_t key,
                               struct kernel_lacks *lacks);

KERNEL_INLINE void kernel_find_lacks_scalar(uint8_t *block, unsigned k, uint64_t digest,
                                            uint8_t key, struct kernel_lacks *lacks)
{
    uint64_t wanted[KERNEL_WORDS] = { 0 };
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
                                  struct kernel_change *change, kernel_find_lacks *find_lacks)
{
    struct kernel_lacks lacks;
    int64_t ones = 0;
    __builtin_prefetch(block, 1); /* to be written */
    if (bloomfile_block_has(block, k, digest))
        return false;
    lacks.count = 0;
    find_lacks(block, k, digest, 0, &lacks);
    for (size_t i = 0; i < lacks.count; i++)
        ones += __builtin_popcountll(shared_set64(lacks.word[i], lacks.bits[i]));
    change->ones += ones;
    change->keys += ones != 0;
    return ones != 0;
}

KERNEL_INLINE void kernel_set(uint8_t *body, uint64_t blocks, unsigned k, const uint64_t *digests,
                              size_t n, bool *was_new, struct kernel_change *change,
                              kernel_find_lacks *find_lacks)
{
    const struct kernel_view view = { .body = body, .units = blocks, .k = k };
    struct kernel_lacks lacks;
    if (n == 1) {
        uint8_t *block = body + PROBE_BLOCK_BYTES * probe_reduce(digests[0], blocks);
        const bool is_new = kernel_set_one(block, k, digests[0], change, find_lacks);
        if (was_new != NULL)
            *was_new = is_new;
        return;
    }
    for (size_t i = 0; i < n && i < KERNEL_RING; i++)
        kernel_request(&view, digests[i]);
    for (size_t start = 0; start < n; start += KERNEL_GROUP) {
        const size_t count = n - start < KERNEL_GROUP ? n - start : KERNEL_GROUP;
        const size_t next = start + KERNEL_RING < n ? start + KERNEL_RING : n;
        const size_t ahead = n - next < KERNEL_GROUP ? n - next : KERNEL_GROUP;
        bool is_new[KERNEL_GROUP] = { false };
        lacks.count = 0;
        for (size_t j = 0; j < count; j++)
            find_lacks(body + PROBE_BLOCK_BYTES * probe_reduce(digests[start + j], blocks), k,
                       digests[start + j], (uint8_t)j, &lacks);
        kernel_set_lacks(&lacks, is_new, change, &view, digests + next, ahead);
        for (size_t j = 0; j < count; j++) {
            if (was_new != NULL)
                was_new[start + j] = is_new[j];
            change->keys += is_new[j];
        }
    }
}

#endif
