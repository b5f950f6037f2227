/* SPDX-License-Identifier: MIT
 * Dropping and counting repeated values in memory. */
#ifndef BLOOMFILE_DISTINCT_H
#define BLOOMFILE_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of memory that distinct() needs for n values. */
size_t distinct_memory(size_t n);

/* Drops repeated values among n values. Returns the number of remaining values, which are in no
 * particular order. Tuned for hashes in an array that fits in the cache; otherwise it is only
 * slower. */
size_t distinct(uint64_t *values, size_t n, void *memory);

/* Counts the repeated values among n values. The memory must begin with `count` suspects, at most
 * distinct_suspects(n), which include each value that equals an earlier value. Reorders values. */
size_t distinct_repetitions(uint64_t *values, size_t n, size_t count, void *memory);
size_t distinct_suspects(size_t n);

#endif
