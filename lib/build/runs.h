/* SPDX-License-Identifier: MIT
 * Sorted runs of digests, in memory or in a file, and partitions, read as one. Digests are spread
 * evenly, so a few reads near the expected place find a digest in a run, and runs need no index;
 * an uneven spread only costs more reads. */
#ifndef BLOOMFILE_RUNS_H
#define BLOOMFILE_RUNS_H

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

/* Reads n digests of a run, starting at a place. 0, or a read error. */
int runs_load(const struct runs *runs, const struct run *run, uint64_t at, size_t n, uint64_t *to);

/* The first place in [low, high) whose digest is not below `digest`; `high` if there is none.
 * Places outside are known to be too low or too high. 0, or a read error. */
int runs_seek(const struct runs *runs, const struct run *run, uint64_t digest, uint64_t low,
              uint64_t high, uint64_t *place);

/* The first place whose digest is above `digest`. */
int runs_seek_above(const struct runs *runs, const struct run *run, uint64_t digest, uint64_t low,
                    uint64_t high, uint64_t *place);

#endif
