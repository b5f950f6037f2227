/* SPDX-License-Identifier: MIT
 * Kernel functions that the tables of several layouts or instruction sets share; see
 * kernel/kernel.h. */
#ifndef BLOOMFILE_KERNEL_FUNCTIONS_H
#define BLOOMFILE_KERNEL_FUNCTIONS_H

#include "kernel/kernel.h"

/* ---- scattered/add_private.c */
void kernel_add_part_classic(uint8_t *part, uint64_t first, uint64_t last, uint64_t bits,
                             unsigned k, const uint64_t *digests, size_t n,
                             struct kernel_idle *idle);
void kernel_add_part_counting(uint8_t *part, uint64_t first, uint64_t last, uint64_t counters,
                              unsigned k, const uint64_t *digests, size_t n,
                              struct kernel_idle *idle);
void kernel_put_classic(uint8_t *part, const uint32_t *positions, size_t n);
void kernel_put_counting(uint8_t *part, const uint32_t *positions, size_t n);

/* ---- scattered/add_shared.c */
void kernel_add_shared_classic(uint8_t *body, uint64_t bits, unsigned k, const uint64_t *digests,
                               size_t n, bool *was_new, struct kernel_change *change);
void kernel_add_alone_classic(uint8_t *body, uint64_t bits, unsigned k, const uint64_t *digests,
                              size_t n, bool *was_new, struct kernel_change *change);
void kernel_add_shared_counting(uint8_t *body, uint64_t counters, unsigned k,
                                const uint64_t *digests, size_t n, bool *was_new,
                                struct kernel_change *change);
bool kernel_remove_shared_counting(uint8_t *body, uint64_t counters, unsigned k, uint64_t digest,
                                   struct kernel_change *change);

/* ---- fold/ */
void kernel_fold_blocked(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                         uint64_t factor);
void kernel_fold_classic(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                         uint64_t factor);
void kernel_fold_counting(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                          uint64_t factor);
void kernel_project_counting(uint8_t *to, const uint8_t *from, size_t size);

/* ---- tally.c */
void kernel_tally_blocked(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
void kernel_tally_classic(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
void kernel_tally_ribbon(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
void kernel_tally_counting(const uint8_t *bytes, size_t size, struct kernel_tally *tally);

#endif
