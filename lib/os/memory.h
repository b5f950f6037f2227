/* SPDX-License-Identifier: MIT
 * Memory in huge pages, if it is large. Otherwise page faults and TLB misses would cost as much as
 * the work on what is in it. */
#ifndef BLOOMFILE_OS_MEMORY_H
#define BLOOMFILE_OS_MEMORY_H

#include <stddef.h>

/* Like malloc(), and aligned to 64 bytes at least. */
void *hugepages_alloc(size_t size);

/* For an array that grows: like realloc(), from `old_size` bytes to more. NULL: out of memory, and
 * `old` stays. */
void *hugepages_grow(void *old, size_t old_size, size_t size);

/* Of such an array. */
void hugepages_free(void *pages, size_t size);

/* ---- Memory of zeros that fork() makes zeros again in the child: what belongs to one process.
 * Mutexes and read-write locks of zeros are free ones. */

/* 0 or an errno; then *out is NULL. */
int wipe_on_fork_new(void **out, size_t size);

/* The bytes that such memory takes. */
size_t wipe_on_fork_mapped(size_t size);

/* NULL is allowed. */
void wipe_on_fork_free(void *memory, size_t size);

#endif
