/* SPDX-License-Identifier: MIT
 * Adds to bodies that others read and change at the same time. See kernel/kernel.h. */
#ifndef BLOOMFILE_KERNEL_SHARED_H
#define BLOOMFILE_KERNEL_SHARED_H

#include "kernel/kernel.h"

void kernel_add_shared_classic(uint8_t *body, uint64_t bits, unsigned k, const uint64_t *digests,
                               size_t n, bool *was_new, struct kernel_change *change);
void kernel_add_shared_counting(uint8_t *body, uint64_t counters, unsigned k,
                                const uint64_t *digests, size_t n, bool *was_new,
                                struct kernel_change *change);

bool kernel_remove_shared_counting(uint8_t *body, uint64_t counters, unsigned k, uint64_t digest,
                                   struct kernel_change *change);

#endif
