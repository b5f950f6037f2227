/* SPDX-License-Identifier: MIT
 *
 * Sorted runs of keys, read as one.
 */
#ifndef BLOOMFILE_TOOLS_COMMON_MERGE_H
#define BLOOMFILE_TOOLS_COMMON_MERGE_H

#include "bfcommon/spool.h"

/* A file of runs, one after the other, each sorted and without repetitions. */
struct runs {
    struct spool *spool;
    struct run_end {
        uint64_t at;  /* in bytes */
        uint32_t sum; /* of the run: spool_mark() */
    } * ends;
    size_t count;
};

struct merge;

/* Merges the runs [first, first + count), each read with a buffer of `room` bytes or more. */
struct merge *merge_open(const struct runs *runs, size_t first, size_t count, size_t room);

/* The next key in order, each once; it stays valid until the next call. false: there is none. */
bool merge_next(struct merge *m, struct bloomfile_key *key);

void merge_close(struct merge *m); /* may be NULL */

#endif
