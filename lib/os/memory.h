/* SPDX-License-Identifier: MIT
 * Memory in huge pages, if it is large. With small pages, page faults and TLB misses take as long
 * as the work on its contents. */
#ifndef BLOOMFILE_OS_MEMORY_H
#define BLOOMFILE_OS_MEMORY_H

#include <stddef.h>

/* Like malloc(), and aligned to 64 bytes at least. */
void *hugepages_alloc(size_t size);

/* Grows an array from `old_size` bytes to `size`, like realloc(). Returns NULL if memory runs out;
 * `old` is then unchanged. */
void *hugepages_grow(void *old, size_t old_size, size_t size);

/* Frees an array from hugepages_grow(). */
void hugepages_free(void *pages, size_t size);

/* ---- Zeroed memory that is zeroed again in a child of fork(), for the state of one process.
 * All-zero mutexes and read-write locks are unlocked. */

/* Returns 0, or an errno, and then *out is NULL. */
int wipe_on_fork_new(void **out, size_t size);

/* The bytes that such memory maps, in whole pages. */
size_t wipe_on_fork_mapped(size_t size);

/* NULL is allowed. */
void wipe_on_fork_free(void *memory, size_t size);

#endif
