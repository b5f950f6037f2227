/* SPDX-License-Identifier: MIT
 * The blocked layout with NEON: a block is a table of 64 bytes. */
#define KERNEL_TARGET SHARED_WIDE_LOADS
#define BLOOMFILE_BLOCK_NEON
#include "kernel/blocked.h"
#include "kernel/blocked_lookup.h"
#include "kernel/blocked_part.h"
#include "kernel/blocked_set.h"

KERNEL_TARGET static void add_shared(uint8_t *body, uint64_t blocks, unsigned k,
                                     const uint64_t *digests, size_t n, bool *was_new,
                                     struct kernel_change *change)
{
    kernel_set(body, blocks, k, digests, n, was_new, change, kernel_find_lacks_scalar);
}

const struct kernel kernel_neon_blocked =
    KERNEL_BLOCKED("neon", contains, contains_many, add_part, add_shared);
