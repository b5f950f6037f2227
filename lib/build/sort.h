/* SPDX-License-Identifier: MIT
 * Sorting digests. */
#ifndef BLOOMFILE_SORT_H
#define BLOOMFILE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sorts ascending, in place, without extra memory, and drops repetitions. Returns how many are
 * left. */
size_t sort_unique(uint64_t *values, size_t n);

#endif
