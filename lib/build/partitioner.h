/* SPDX-License-Identifier: MIT
 *
 * Digests partitioned by their topmost bits as they come. Each partition has a buffer in the cache;
 * when it is full, it becomes a block, behind all blocks that there are. So all digests are written
 * once, in large pieces, to one array; and a partition, which fits into the cache, can be gathered
 * from it.
 */
#ifndef BLOOMFILE_PARTITIONER_H
#define BLOOMFILE_PARTITIONER_H

#include <stddef.h>
#include <stdint.h>

#define PARTITION_BITS   11u /* 2^11 partitions of all digests */
#define PARTITION_BUFFER 32u /* digests in a block */

/* The digests of one lane. */
struct partitioner;

/* All digests are alike in their topmost `lane_bits`. 0 or ENOMEM. */
int partitioner_new(struct partitioner **out, unsigned lane_bits);

/* Makes sure that the array may come to hold `count` digests in blocks. 0 or ENOMEM. */
int partitioner_reserve(struct partitioner *s, size_t count);

/* How many digests are in blocks; and in buffers. */
size_t partitioner_in_blocks(const struct partitioner *s);
size_t partitioner_in_buffers(const struct partitioner *s);

/* Adds digests. blocks: the array, on a multiple of 16 bytes. */
void partitioner_add(struct partitioner *s, uint64_t *blocks, const uint64_t *digests, size_t n);

/* Forgets all digests, after those in buffers have been put behind the blocks. */
void partitioner_empty(struct partitioner *s, uint64_t *blocks);

/* Prepares gathering from the array as it is now. 0 or ENOMEM. */
int partitioner_index(struct partitioner *s, const uint64_t *blocks);

/* The number of digests in a partition, one of this lane; and in the largest one. */
size_t partitioner_count(const struct partitioner *s, uint64_t partition);
size_t partitioner_most(const struct partitioner *s);

/* Copies those that are in [first, last], and returns how many they are; there must be room for
 * partitioner_count(). */
size_t partitioner_gather(const struct partitioner *s, uint64_t partition, uint64_t first,
                          uint64_t last, uint64_t *to);

void partitioner_free(struct partitioner *s);

static inline uint64_t partition_of(uint64_t digest)
{
    return digest >> (64 - PARTITION_BITS);
}

#endif
