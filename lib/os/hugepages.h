/* SPDX-License-Identifier: MIT
 *
 * Memory for an array that grows, in huge pages once it is large: else the page faults, and the TLB
 * misses of writing here and there, cost more than what is done with 8 bytes.
 */
#ifndef BLOOMFILE_HUGEPAGES_H
#define BLOOMFILE_HUGEPAGES_H

#include <stddef.h>

/* Like realloc(), from `old_size` bytes to more. NULL: there is no memory, and `old` stays. */
void *hugepages_grow(void *old, size_t old_size, size_t size);

void hugepages_free(void *pages, size_t size);

#endif
