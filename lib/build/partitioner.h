/* SPDX-License-Identifier: MIT
 * Partitions digests by their top bits as they arrive. Each partition has a buffer in the cache; a
 * full buffer becomes the next block of one array. So every digest is written once, in large
 * pieces, and a partition, which fits in the cache, can be gathered from its blocks. */
#ifndef BLOOMFILE_PARTITIONER_H
#define BLOOMFILE_PARTITIONER_H

#include <stddef.h>
#include <stdint.h>

#define PARTITION_BITS   11u
#define PARTITIONS       (1u << PARTITION_BITS)
#define PARTITION_BUFFER 32u /* digests in a block */

/* The digests of one lane. */
struct partitioner;

/* 0 or ENOMEM. */
int partitioner_new(struct partitioner **out);

/* Prepares for an array of up to `count` digests in blocks. 0 or ENOMEM. */
int partitioner_reserve(struct partitioner *s, size_t count);

/* The number of digests in blocks, and in buffers. */
size_t partitioner_in_blocks(const struct partitioner *s);
size_t partitioner_in_buffers(const struct partitioner *s);

/* Adds digests. blocks: the array, on a multiple of 16 bytes. */
void partitioner_add(struct partitioner *s, uint64_t *blocks, const uint64_t *digests, size_t n);

/* Appends the buffers to the blocks, then forgets all digests. */
void partitioner_empty(struct partitioner *s, uint64_t *blocks);

/* Prepares for gathering from the array as it is now. 0 or ENOMEM. */
int partitioner_index(struct partitioner *s, const uint64_t *blocks);

/* The number of digests in a partition of this lane. */
size_t partitioner_count(const struct partitioner *s, uint64_t p);

/* Copies a partition's digests that are in [first, last], and returns their number. There must be
 * room for partitioner_count(). */
size_t partitioner_gather(const struct partitioner *s, uint64_t p, uint64_t first, uint64_t last,
                          uint64_t *to);

void partitioner_free(struct partitioner *s);

static inline uint64_t partition_of(uint64_t digest)
{
    return digest >> (64 - PARTITION_BITS);
}

#endif
