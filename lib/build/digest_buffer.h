/* SPDX-License-Identifier: MIT
 * An array of digests: sorted digests first, newer digests behind them. Once there are many, they
 * are partitioned as they arrive. */
#ifndef BLOOMFILE_BUILD_DIGEST_BUFFER_H
#define BLOOMFILE_BUILD_DIGEST_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest_buffer {
    uint64_t *values;
    size_t count, room;
    size_t sorted; /* this many at the start are ascending and distinct */
    struct partitioner
        *partitioner; /* NULL: the rest is in order of arrival; else it is in blocks... */
    size_t blocks;    /* ...from this place on, and in buffers, which `count` leaves out */
    uint64_t added;   /* ever */
};

struct digest_buffer_plan {
    bool partition; /* memory suffices for partitions */
    size_t most;    /* digests to hold */
};

/* How many digests it holds. */
size_t digest_buffer_count(const struct digest_buffer *buffer);

/* Makes room for `more`, at most plan->most in all. 0 or ENOMEM. */
int digest_buffer_reserve(struct digest_buffer *buffer, const struct digest_buffer_plan *plan,
                          size_t more);

/* Adds digests; there is room for them. */
void digest_buffer_add(struct digest_buffer *buffer, const uint64_t *digests, size_t n);

/* Sorts all digests and drops repetitions. */
void digest_buffer_sort(struct digest_buffer *buffer);

/* Forgets all digests. They are sorted. */
void digest_buffer_empty(struct digest_buffer *buffer);

/* Forgets all digests, sorted or not, as if none had been added. */
void digest_buffer_reset(struct digest_buffer *buffer);

void digest_buffer_free(struct digest_buffer *buffer);

/* ---- Partitions digests by their top bits as they arrive. Each partition has a buffer in the
 * cache; a full buffer becomes the next block of one array. So every digest is written once, in
 * large pieces, and a partition, which fits in the cache, can be gathered from its blocks. */

#define PARTITION_BITS   11u
#define PARTITIONS       (1u << PARTITION_BITS)
#define PARTITION_BUFFER 32u /* digests in a block */

/* The digests of one buffer. */
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

/* The number of digests in a partition of this buffer. */
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

/* ---- Sorting digests. */

/* Sorts ascending, in place, without extra memory, and drops repetitions. Returns how many are
 * left. */
size_t sort_unique(uint64_t *values, size_t n);

#endif
