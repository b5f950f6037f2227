/* SPDX-License-Identifier: MIT
 * Adds in the blocked layout to a part of a body that only the caller touches, for any instruction
 * set. Setting bits one by one is slow: each store waits to know whether the one before went to
 * the same byte. So a key's bits are combined first, from rows of one bit each, and go to their
 * block at once. */
#ifndef BLOOMFILE_KERNEL_BLOCKED_ADD_PRIVATE_H
#define BLOOMFILE_KERNEL_BLOCKED_ADD_PRIVATE_H

#include <string.h>

#include "kernel/blocked/prefetch_ring.h"

#define KERNEL_MANY      512 /* digests; making the rows pays for this many */
#define KERNEL_AHEAD     64  /* digests whose lines are requested together, in a part beyond ... */
#define KERNEL_FAR_BYTES (1 << 24)

/* A block, at any address. */
typedef uint64_t kernel_bits __attribute__((vector_size(PROBE_BLOCK_BYTES), aligned(1), may_alias));

/* By address: passed by value, a vector would need an instruction set of its own. */
KERNEL_INLINE bool kernel_has_any(const kernel_bits *of)
{
    const kernel_bits bits = *of;
#ifdef KERNEL_WIDE /* a block is one register */
    return _mm512_test_epi64_mask((__m512i)bits, (__m512i)bits) != 0;
#else
    uint64_t any = 0;
    for (unsigned w = 0; w < PROBE_BLOCK_BYTES / sizeof any; w++)
        any |= bits[w];
    return any != 0;
#endif
}

/* The blocks of the first KERNEL_AHEAD of n digests. */
KERNEL_INLINE void kernel_request_part(const uint8_t *part, uint64_t first, uint64_t blocks,
                                       const uint64_t *digests, size_t n)
{
    const bool split = (uintptr_t)part % PROBE_BLOCK_BYTES != 0;
    for (size_t i = 0; i < n && i < KERNEL_AHEAD; i++) {
        const uint8_t *block =
            part + PROBE_BLOCK_BYTES * (probe_reduce(digests[i], blocks) - first);
        __builtin_prefetch(block, 1);
        if (split)
            __builtin_prefetch(block + PROBE_BLOCK_BYTES - 1, 1);
    }
}

KERNEL_INLINE void kernel_note_idle(struct kernel_idle *idle, uint64_t digest)
{
    if (idle->count < idle->most)
        idle->digests[idle->count] = digest;
    idle->count++;
}

/* All are idle, perhaps: for few it does not pay to know better. */
KERNEL_INLINE void kernel_add_few(uint8_t *part, uint64_t first, uint64_t blocks, unsigned k,
                                  const uint64_t *digests, size_t n, struct kernel_idle *idle)
{
    for (size_t i = 0; i < n; i++) {
        if (idle != NULL)
            kernel_note_idle(idle, digests[i]);
        uint8_t *block = part + PROBE_BLOCK_BYTES * (probe_reduce(digests[i], blocks) - first);
        uint64_t product = digests[i];
        for (unsigned j = 0; j < k; j++) {
            if (j % PROBE_SLICES == 0)
                product *= PROBE_MULTIPLIER;
            unsigned bit = probe_slice(product, j % PROBE_SLICES);
            block[bit / 8] |= (uint8_t)(1u << bit % 8);
        }
    }
}

/* The bits of the first `slices` slices of each digest's product with `multiplier`. rows[i]: a
 * block in which only bit i is set. idle: NULL, or takes the digests that set none of these. */
KERNEL_INLINE void kernel_add_slices(uint8_t *part, uint64_t first, uint64_t blocks,
                                     uint8_t (*rows)[PROBE_BLOCK_BYTES], uint64_t multiplier,
                                     unsigned slices, const uint64_t *digests, size_t n,
                                     struct kernel_idle *idle)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t product = digests[i] * multiplier;
        const uint64_t block = probe_reduce(digests[i], blocks) - first;
        kernel_bits *at = (void *)(part + PROBE_BLOCK_BYTES * block), old = *at, bits = old;
        for (unsigned s = 0; s < slices; s++)
            bits |= *(const kernel_bits *)(const void *)rows[probe_slice(product, s)];
        *at = bits;
        bits ^= old;
        if (idle != NULL && __builtin_expect(!kernel_has_any(&bits), 0))
            kernel_note_idle(idle, digests[i]);
    }
}

/* So that the number of slices is a constant in each. */
#define KERNEL_ADD_CONSTANT_SLICES(slices)                                                         \
    case slices:                                                                                   \
        kernel_add_slices(part, first, blocks, rows, multiplier, slices, digests, n, idle);        \
        break

KERNEL_INLINE void kernel_add_by_rows(uint8_t *part, uint64_t first, uint64_t blocks, unsigned k,
                                      uint8_t (*rows)[PROBE_BLOCK_BYTES], const uint64_t *digests,
                                      size_t n, struct kernel_idle *idle)
{
    for (uint64_t multiplier = PROBE_MULTIPLIER;; multiplier *= PROBE_MULTIPLIER) {
        switch (k) {
            KERNEL_ADD_CONSTANT_SLICES(1);
            KERNEL_ADD_CONSTANT_SLICES(2);
            KERNEL_ADD_CONSTANT_SLICES(3);
            KERNEL_ADD_CONSTANT_SLICES(4);
            KERNEL_ADD_CONSTANT_SLICES(5);
        default:
            kernel_add_slices(part, first, blocks, rows, multiplier, PROBE_SLICES, digests, n,
                              idle);
        }
        idle = NULL; /* a digest that was added before was idle already */
        if (k <= PROBE_SLICES)
            break;
        k -= PROBE_SLICES;
    }
}

/* Not inlined: the stack for the rows would slow down adding a few digests. */
KERNEL_TARGET static __attribute__((noinline)) void
kernel_add_many(uint8_t *part, uint64_t first, uint64_t blocks, unsigned k, const uint64_t *digests,
                size_t n, bool far, struct kernel_idle *idle)
{
    uint8_t rows[PROBE_BLOCK_BITS][PROBE_BLOCK_BYTES] __attribute__((aligned(PROBE_BLOCK_BYTES)));
    memset(rows, 0, sizeof rows);
    for (unsigned bit = 0; bit < PROBE_BLOCK_BITS; bit++)
        rows[bit][bit / 8] = (uint8_t)(1u << bit % 8);
    if (far)
        kernel_request_part(part, first, blocks, digests, n);
    for (size_t start = 0, count; start < n; start += count) {
        count = far && n - start > KERNEL_AHEAD ? KERNEL_AHEAD : n - start;
        if (far)
            kernel_request_part(part, first, blocks, digests + start + count, n - start - count);
        kernel_add_by_rows(part, first, blocks, k, rows, digests + start, count, idle);
    }
}

KERNEL_TARGET static void add_part(uint8_t *part, uint64_t first, uint64_t last, uint64_t blocks,
                                   unsigned k, const uint64_t *digests, size_t n,
                                   struct kernel_idle *idle)
{
    if (n < KERNEL_MANY)
        kernel_add_few(part, first, blocks, k, digests, n, idle);
    else
        kernel_add_many(part, first, blocks, k, digests, n,
                        last - first > KERNEL_FAR_BYTES / PROBE_BLOCK_BYTES, idle);
}

#endif
