/* SPDX-License-Identifier: MIT
 * Sorted runs of digests, in memory or in a file, and partitions, read as one sequence. Runs have
 * no index: digests are hashes, so they are uniform, and a few reads near the expected place find a
 * digest. Non-uniform digests only cost more reads. */
#ifndef BLOOMFILE_BUILD_RUNS_H
#define BLOOMFILE_BUILD_RUNS_H

#include <stdbool.h>

#include "build/digest_buffer.h"

#define RUNS_BUFFERS_MOST 16

struct run {
    const uint64_t *values; /* NULL: they are in the file, at `offset` */
    uint64_t offset;
    uint64_t count; /* number of values, above 0; they are ascending and distinct */
    uint64_t least, greatest;
};

struct runs {
    uint64_t held; /* number of digests, including repeated digests */
    struct run *list;
    size_t count, room;
    int fd;       /* the file */
    uint64_t sum; /* sum of all digests in the file, modulo 2^64 */
    const struct partitioner *partitioned[RUNS_BUFFERS_MOST];
    unsigned buffers; /* length of `partitioned` */
    uint64_t keys;    /* number of distinct digests... */
    bool counted;     /* ...if it is known */
};

/* Returns whether it is known that no digest is repeated. */
static inline bool runs_are_distinct(const struct runs *runs)
{
    return runs->counted && runs->keys == runs->held;
}

/* Makes room for `count` runs. Returns 0 or ENOMEM. */
int runs_reserve(struct runs *runs, size_t count);

/* ---- reading runs and partitions as one sequence, in pieces that stay in the cache. Equal digests
 * are in the same piece. */

#define READER_EACH  12u                 /* bytes for each digest of a piece: 8, and 4 for slots */
#define READER_SHARE ((uint64_t)1 << 14) /* digests; fewer are not worth a thread */

/* The position and the buffers of one thread. */
struct reader;

/* `room` is about the number of digests of a piece. Returns 0 or ENOMEM. */
int reader_new(struct reader **out, const struct runs *runs, size_t room);

/* The most digests of a piece. */
size_t reader_most(const struct reader *r);

/* All digests in a small range. */
struct reader_piece {
    const uint64_t *digests;
    size_t n;
    uint64_t *own; /* `digests`, writable, if some may be repeated; NULL: all are distinct */
    void *memory;  /* memory for distinct() */
};

/* Drops repeated digests. */
void reader_make_distinct(struct reader_piece *piece);

/* Calls visit(context, piece) for the digests in [first, last], one small range after the other.
 * Returns 0 or a read error; EIO if the file differs from the digests that were written. */
typedef void reader_visit(void *context, struct reader_piece *piece);
int reader_read(struct reader *reader, uint64_t first, uint64_t last, reader_visit *visit,
                void *context);

/* Returns the sum of the digests read from the file so far. If all are read and the sum is not
 * runs->sum, the file lost digests: the kernel may report a write error only later. */
uint64_t reader_sum(const struct reader *reader);

void reader_free(struct reader *reader);

#endif
