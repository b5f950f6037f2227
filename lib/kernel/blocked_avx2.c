/* SPDX-License-Identifier: MIT
 * The blocked layout with AVX2: a block is two registers. */
#define KERNEL_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt"))) SHARED_WIDE_LOADS
#define BLOOMFILE_BLOCK_AVX2
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

const struct kernel kernel_avx2_blocked =
    KERNEL_BLOCKED("avx2", contains, contains_many, add_part, add_shared);
