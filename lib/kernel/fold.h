/* SPDX-License-Identifier: MIT
 * Folding (format-spec.md, section 14.1), one function per layout; see kernel/kernel.h. */
#ifndef BLOOMFILE_KERNEL_FOLD_H
#define BLOOMFILE_KERNEL_FOLD_H

#include "kernel/kernel.h"

void kernel_fold_blocked(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                         uint64_t factor);
void kernel_fold_classic(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                         uint64_t factor);
void kernel_fold_counting(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                          uint64_t factor);

void kernel_project_counting(uint8_t *to, const uint8_t *from, size_t size);

#endif
