/* SPDX-License-Identifier: MIT
 *
 * Digests partitioned by their topmost bits as they come. Each partition has a buffer in the cache;
 * when it is full, it becomes a block, behind all blocks that there are. So all digests are written
 * once, in large pieces, to one array; and a partition, which fits into the cache, can be gathered
 * from it.
 */
#ifndef BLOOMFILE_SCATTER_H
#define BLOOMFILE_SCATTER_H

#include <stddef.h>
#include <stdint.h>

#define SCATTER_BITS   11u /* 2^11 partitions of all digests */
#define SCATTER_BUFFER 32u /* digests in a block */

/* The digests of one lane. */
struct scatter;

/* All digests are alike in their topmost `lane_bits`. 0 or ENOMEM. */
int scatter_new(struct scatter **out, unsigned lane_bits);

/* Makes sure that the array may come to hold `count` digests in blocks. 0 or ENOMEM. */
int scatter_reserve(struct scatter *s, size_t count);

/* How many digests are in blocks; and in buffers. */
size_t scatter_in_blocks(const struct scatter *s);
size_t scatter_in_buffers(const struct scatter *s);

/* Adds digests. blocks: the array, on a multiple of 16 bytes. */
void scatter_add(struct scatter *s, uint64_t *blocks, const uint64_t *digests, size_t n);

/* Forgets all digests, after those in buffers have been put behind the blocks. */
void scatter_empty(struct scatter *s, uint64_t *blocks);

/* Prepares gathering from the array as it is now. 0 or ENOMEM. */
int scatter_index(struct scatter *s, const uint64_t *blocks);

/* The number of digests in a partition, one of this lane; and in the largest one. */
size_t scatter_count(const struct scatter *s, uint64_t partition);
size_t scatter_most(const struct scatter *s);

/* Copies those that are in [first, last], and returns how many they are; there must be room for
 * scatter_count(). */
size_t scatter_gather(const struct scatter *s, uint64_t partition, uint64_t first, uint64_t last,
                      uint64_t *to);

void scatter_free(struct scatter *s);

static inline uint64_t scatter_partition(uint64_t digest)
{
    return digest >> (64 - SCATTER_BITS);
}

#endif
