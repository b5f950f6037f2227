/* SPDX-License-Identifier: MIT
 * Any number of digests in a fixed amount of memory. Each thread adds to a lane of its own; a full
 * lane is sorted, and what remains goes to a temporary file as a run. */
#ifndef BLOOMFILE_DIGESTS_H
#define BLOOMFILE_DIGESTS_H

#include "build/lane.h"
#include "build/runs.h"

struct digests;

#define DIGESTS_LANES_MOST RUNS_LANES_MOST

struct digests_plan {
    struct lane_plan lane; /* each holds 4096 digests at least */
    unsigned lanes;        /* at most DIGESTS_LANES_MOST */
    bool shared;           /* several threads add at once */
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
