/* SPDX-License-Identifier: MIT
 * The repetitions among values in memory, dropped or counted. */
#ifndef BLOOMFILE_DISTINCT_H
#define BLOOMFILE_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of memory that distinct() needs for n values. */
size_t distinct_memory(size_t n);

/* Drops repetitions among n values and returns how many are left, in any order. Tuned for hashes
 * that fit in the cache; other values only take longer. */
size_t distinct(uint64_t *values, size_t n, void *memory);

/* The number of repetitions among n values. Each value that equals one before it is among `count`
 * suspects at the beginning of the memory, at most distinct_suspects(n). Leaves the values in
 * disorder. */
size_t distinct_repetitions(uint64_t *values, size_t n, size_t count, void *memory);
size_t distinct_suspects(size_t n);

#endif
