/* SPDX-License-Identifier: MIT
 * Any number of digests in a fixed amount of memory. Their top bits assign them to lanes; a full
 * lane is sorted, and what remains goes to a temporary file as a run. */
#ifndef BLOOMFILE_DIGESTS_H
#define BLOOMFILE_DIGESTS_H

#include "build/lane.h"
#include "build/runs.h"

struct digests;

#define DIGESTS_LANE_BITS_MOST                                                                     \
    RUNS_LANE_BITS_MOST /* a thread looks through its digests once for each lane */

struct digests_plan {
    struct lane_plan lane; /* 2^lane.bits lanes; with 0 only one thread adds at a time. Each holds
                              4096 digests at least */
    unsigned threads;      /* for sorting and counting */
    size_t room;           /* as for reader_new() */
    const char *folder;    /* as for spool_file(); the caller's */
};

int digests_new(struct digests **out, const struct digests_plan *plan);

/* 0, or an error; then everything added before is still held, and some of the new digests. */
int digests_add(struct digests *d, const uint64_t *digests, size_t n);

/* All digests, sorted or partitioned, valid until more are added. NULL: ENOMEM. */
const struct runs *digests_runs(struct digests *d);

/* The number of distinct digests. */
int digests_count(struct digests *d, uint64_t *count);

void digests_free(struct digests *d);

#endif
