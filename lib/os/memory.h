/* SPDX-License-Identifier: MIT
 * Memory in huge pages, if it is large. In small pages, page faults and TLB misses would take as
 * long as the work on its contents. */
#ifndef BLOOMFILE_OS_MEMORY_H
#define BLOOMFILE_OS_MEMORY_H

#include <stddef.h>

/* Like malloc(), and aligned to 64 bytes at least. */
void *hugepages_alloc(size_t size);

/* Grows an array, like realloc(), from `old_size` bytes to more. NULL: out of memory, and `old`
 * stays. */
void *hugepages_grow(void *old, size_t old_size, size_t size);

/* Frees an array from hugepages_grow(). */
void hugepages_free(void *pages, size_t size);

/* ---- Memory of zeros that is zero again in a child of fork(), for the state of one process. A
 * mutex or read-write lock of zeros is unlocked. */

/* 0 or an errno; then *out is NULL. */
int wipe_on_fork_new(void **out, size_t size);

/* The size of such memory in whole pages. */
size_t wipe_on_fork_mapped(size_t size);

/* NULL is allowed. */
void wipe_on_fork_free(void *memory, size_t size);

#endif
