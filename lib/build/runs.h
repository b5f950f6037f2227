/* SPDX-License-Identifier: MIT
 * Sorted runs of digests, in memory or in a file, and partitions, read as one. Digests are spread
 * evenly, so a few reads near the expected place find a digest in a run, and runs need no index;
 * an uneven spread only costs more reads. */
#ifndef BLOOMFILE_BUILD_RUNS_H
#define BLOOMFILE_BUILD_RUNS_H

#include <stdbool.h>

#include "build/digest_buffer.h"

#define RUNS_BUFFERS_MOST 16

struct run {
    const uint64_t *values; /* NULL: in the file, from `offset` on */
    uint64_t offset;
    uint64_t count; /* above 0; ascending and distinct */
    uint64_t least, greatest;
};

struct runs {
    uint64_t held; /* digests, repetitions included */
    struct run *list;
    size_t count, room;
    int fd;       /* of those in the file */
    uint64_t sum; /* of all digests in the file, modulo 2^64 */
    const struct partitioner *partitioned[RUNS_BUFFERS_MOST]; /* buffers */
    unsigned buffers;                                         /* number of these */
    uint64_t keys;                                            /* distinct digests, if... */
    bool counted;                                             /* ...that is known */
};

/* Whether it is known that no digest is repeated. */
static inline bool runs_are_distinct(const struct runs *runs)
{
    return runs->counted && runs->keys == runs->held;
}

/* Makes room for one more. 0 or ENOMEM. */
int runs_reserve(struct runs *runs, size_t count);

/* ---- Runs and partitions of digests read as one, in pieces that stay in the cache. Equal
 * digests are in the same piece. */

#define READER_EACH  12u                 /* bytes of memory for a digest that is taken in at once */
#define READER_SHARE ((uint64_t)1 << 14) /* digests; a thread does not pay for fewer */

/* One thread's place and buffers. */
struct reader;

/* `room`: about how many digests to hold at once. 0 or ENOMEM. */
int reader_new(struct reader **out, const struct runs *runs, size_t room);

/* A piece has no more digests than that. */
size_t reader_most(const struct reader *r);

/* All digests in a small range. */
struct reader_piece {
    const uint64_t *digests;
    size_t n;
    uint64_t *own; /* the same, to be changed, if some may be repeated; NULL: none is */
    void *memory;  /* for distinct() of them */
};

/* Drops repetitions. */
void reader_make_distinct(struct reader_piece *piece);

/* Calls visit(context, piece) for the digests in [first, last], one small range after the other. 0,
 * or a read error; EIO if the file is not what was written. */
typedef void reader_visit(void *context, struct reader_piece *piece);
int reader_read(struct reader *reader, uint64_t first, uint64_t last, reader_visit *visit,
                void *context);

/* The sum of the digests read from the file so far. If all have been read and it differs from
 * runs->sum, some were lost: a write error may surface only after the write. */
uint64_t reader_sum(const struct reader *reader);

void reader_free(struct reader *reader);

#endif
