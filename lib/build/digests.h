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

/* After digests_runs(): the same; or if a sample has no repetition, how many there are if all the
 * others have none either. */
int digests_guess(struct digests *d, uint64_t *count, bool *certain);

/* After digests_runs(): who has read all of them says how many are distinct. */
void digests_are(struct digests *d, uint64_t distinct);

void digests_free(struct digests *d);

#endif
