/* SPDX-License-Identifier: MIT
 * Counts what is in a body, one function per layout; see kernel/kernel.h. */
#ifndef BLOOMFILE_KERNEL_TALLY_H
#define BLOOMFILE_KERNEL_TALLY_H

#include "kernel/kernel.h"

void kernel_tally_blocked(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
void kernel_tally_classic(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
void kernel_tally_counting(const uint8_t *bytes, size_t size, struct kernel_tally *tally);

#endif
