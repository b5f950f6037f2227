/* SPDX-License-Identifier: MIT
 * Adding to a part of a body that is the caller's alone. See kernel.h. */
#ifndef BLOOMFILE_KERNEL_ADD_H
#define BLOOMFILE_KERNEL_ADD_H

#include "kernel.h"

void kernel_add_part_blocked(uint8_t *part, uint64_t first, uint64_t last, uint64_t blocks,
                             unsigned k, const uint64_t *digests, size_t n);
void kernel_add_part_classic(uint8_t *part, uint64_t first, uint64_t last, uint64_t bits,
                             unsigned k, const uint64_t *digests, size_t n);
void kernel_add_part_counting(uint8_t *part, uint64_t first, uint64_t last, uint64_t counters,
                              unsigned k, const uint64_t *digests, size_t n);

/* Blocked: sets the bits of `slices` slices of each digest's product with `multiplier`, a power of
 * PROBE_MULTIPLIER. rows[i]: a block in which only bit i is set. */
struct kernel_slices {
    uint8_t *part;
    uint64_t first, blocks;
    const uint64_t *digests;
    size_t n;
    uint64_t multiplier;
    uint8_t (*rows)[64];
};
typedef void kernel_slices_adder(const struct kernel_slices *t, unsigned slices);
kernel_slices_adder kernel_add_slices, kernel_add_slices_avx2, kernel_add_slices_avx512;

#endif
