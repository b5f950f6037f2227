/* SPDX-License-Identifier: MIT
 * An array of digests: first sorted digests, then newer digests. Once there are many, newer digests
 * are partitioned as they arrive. */
#ifndef BLOOMFILE_BUILD_DIGEST_BUFFER_H
#define BLOOMFILE_BUILD_DIGEST_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest_buffer {
    uint64_t *values;
    size_t count, room;
    size_t sorted; /* number of digests at the start that are ascending and distinct */
    struct partitioner
        *partitioner; /* NULL: the rest is in order of arrival. Otherwise it is in blocks... */
    size_t blocks;  /* ...from here on, and in the partitioner's buffers: `count` excludes these */
    uint64_t added; /* digests added so far */
};

struct digest_buffer_plan {
    bool partition; /* memory suffices for partitions */
    size_t most;    /* digests to hold */
};

/* The number of digests that the buffer holds. */
size_t digest_buffer_count(const struct digest_buffer *buffer);

/* Makes room for `more` digests, at most plan->most in total. Returns 0 or ENOMEM. */
int digest_buffer_reserve(struct digest_buffer *buffer, const struct digest_buffer_plan *plan,
                          size_t more);

/* Adds digests, for which there must be room. */
void digest_buffer_add(struct digest_buffer *buffer, const uint64_t *digests, size_t n);

/* Sorts all digests and drops repeated digests. */
void digest_buffer_sort(struct digest_buffer *buffer);

/* Drops all digests, which must be sorted. */
void digest_buffer_empty(struct digest_buffer *buffer);

/* Drops all digests, sorted or not, and resets the number of digests added. */
void digest_buffer_reset(struct digest_buffer *buffer);

void digest_buffer_free(struct digest_buffer *buffer);

/* ---- partitioning
 *
 * A body can be made without sorted digests: it needs the digests of one stretch of the body
 * together, and each digest once. So digests are partitioned by their top 11 bits as they arrive.
 * Each of the 2048 partitions has a buffer of 32 digests, which together take 512 KiB of the L2
 * cache. A full buffer becomes the next block of one array. So each digest is written to memory
 * once, in blocks of 256 bytes, and a partition, which fits in the cache, is later gathered from
 * its blocks. Sorting alone took 12 ns a digest; building from 10^6 digests takes 5.6 ns in
 * total. */

#define PARTITION_BITS   11u
#define PARTITIONS       (1u << PARTITION_BITS)
#define PARTITION_BUFFER 32u /* digests in a block */

/* The partitions of one digest_buffer. */
struct partitioner;

/* Returns 0 or ENOMEM. */
int partitioner_new(struct partitioner **out);

/* Prepares for an array of up to `count` digests in blocks. Returns 0 or ENOMEM. */
int partitioner_reserve(struct partitioner *s, size_t count);

/* The number of digests in blocks, and in buffers. */
size_t partitioner_in_blocks(const struct partitioner *s);
size_t partitioner_in_buffers(const struct partitioner *s);

/* Adds digests. `blocks` is the array, aligned to 16 bytes. */
void partitioner_add(struct partitioner *s, uint64_t *blocks, const uint64_t *digests, size_t n);

/* Appends the buffers to the blocks, then drops all digests. */
void partitioner_empty(struct partitioner *s, uint64_t *blocks);

/* Prepares for gathering from the present state of the array. Returns 0 or ENOMEM. */
int partitioner_index(struct partitioner *s, const uint64_t *blocks);

/* The number of digests in a partition of this buffer. */
size_t partitioner_count(const struct partitioner *s, uint64_t p);

/* Copies the digests of a partition that are in [first, last]. Returns their number. `to` must have
 * room for partitioner_count() digests. */
size_t partitioner_gather(const struct partitioner *s, uint64_t p, uint64_t first, uint64_t last,
                          uint64_t *to);

void partitioner_free(struct partitioner *s);

static inline uint64_t partition_of(uint64_t digest)
{
    return digest >> (64 - PARTITION_BITS);
}

/* ---- sorting */

/* Sorts in ascending order, in place, without extra memory, and drops repeated values. Returns the
 * number of remaining values. */
size_t sort_unique(uint64_t *values, size_t n);

#endif
