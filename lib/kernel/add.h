/* SPDX-License-Identifier: MIT
 * Adds to a part of a body that only the caller touches. See kernel/kernel.h. */
#ifndef BLOOMFILE_KERNEL_ADD_H
#define BLOOMFILE_KERNEL_ADD_H

#include "kernel/kernel.h"

void kernel_add_part_classic(uint8_t *part, uint64_t first, uint64_t last, uint64_t bits,
                             unsigned k, const uint64_t *digests, size_t n);
void kernel_add_part_counting(uint8_t *part, uint64_t first, uint64_t last, uint64_t counters,
                              unsigned k, const uint64_t *digests, size_t n);

void kernel_put_classic(uint8_t *part, const uint32_t *positions, size_t n);
void kernel_put_counting(uint8_t *part, const uint32_t *positions, size_t n);

#endif
