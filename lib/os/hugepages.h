/* SPDX-License-Identifier: MIT
 * Memory for a growing array, in huge pages once it is large. Otherwise page faults and TLB misses
 * would cost more than the work on its 8-byte elements. */
#ifndef BLOOMFILE_HUGEPAGES_H
#define BLOOMFILE_HUGEPAGES_H

#include <stddef.h>

/* Like realloc(), from `old_size` bytes to more. NULL: out of memory, and `old` stays. */
void *hugepages_grow(void *old, size_t old_size, size_t size);

void hugepages_free(void *pages, size_t size);

#endif
