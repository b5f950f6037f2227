/* SPDX-License-Identifier: MIT
 *
 * Keys into blocks of the cache. A bit cannot be set until it is known whether the one before went
 * to the same byte; so a key's bits are put together first, from rows that have one bit each, and
 * go to their block at once.
 *
 * To be included once by a file for one kind of processor, which it names by KERNEL_TARGET: empty,
 * or __attribute__((target(...))); and its function by KERNEL_ADD_SLICES.
 */
#include "kernel_add.h"
#include "probe.h"

/* A block, at any address. */
typedef uint64_t block_bits __attribute__((vector_size(PROBE_BLOCK_BYTES), aligned(1), may_alias));

KERNEL_TARGET static inline __attribute__((always_inline)) void
add_slices(const struct kernel_slices *task, unsigned slices)
{
    const struct kernel_slices t = *task; /* which is not where the bits go */
    for (size_t i = 0; i < t.n; i++) {
        const uint64_t digest = t.digests[i], product = digest * t.multiplier;
        const uint64_t block = probe_reduce(digest, t.blocks) - t.first;
        block_bits *at = (void *)(t.part + PROBE_BLOCK_BYTES * block);
        block_bits bits = *at;
        for (unsigned s = 0; s < slices; s++)
            bits |= *(const block_bits *)(const void *)t.rows[probe_slice(product, s)];
        *at = bits;
    }
}

/* To the compiler, the number of slices is constant in each. */
KERNEL_TARGET void KERNEL_ADD_SLICES(const struct kernel_slices *t, unsigned slices)
{
    switch (slices) {
    case 1:
        add_slices(t, 1);
        break;
    case 2:
        add_slices(t, 2);
        break;
    case 3:
        add_slices(t, 3);
        break;
    case 4:
        add_slices(t, 4);
        break;
    case 5:
        add_slices(t, 5);
        break;
    default:
        add_slices(t, PROBE_SLICES);
    }
}
