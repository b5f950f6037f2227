/* SPDX-License-Identifier: MIT
 *
 * Digests in memory, in one array: first those that have been sorted, behind them the newer ones.
 * Once these are many, they are partitioned as they come.
 */
#ifndef BLOOMFILE_LANE_H
#define BLOOMFILE_LANE_H

#include <stdbool.h>

#include "build/partitioner.h"

struct lane {
    uint64_t *values;
    size_t count, room;
    size_t sorted; /* so many at the start are ascending and distinct */
    struct partitioner
        *partitioner; /* NULL: those behind are as they came; else they are in blocks... */
    size_t blocks;    /* ...from this place on, and in buffers, which `count` leaves out */
    uint64_t added;   /* ever */
};

struct lane_plan {
    unsigned bits;  /* all digests are alike in so many topmost bits */
    bool partition; /* memory allows to partition */
    size_t most;    /* digests to hold */
};

/* How many digests it holds. */
size_t lane_count(const struct lane *lane);

/* Makes places for `more`, at most plan->most in all. 0 or ENOMEM. */
int lane_reserve(struct lane *lane, const struct lane_plan *plan, size_t more);

/* Adds digests, for which there are places. */
void lane_add(struct lane *lane, const uint64_t *digests, size_t n);

/* Puts all in ascending order, each once. */
void lane_sort(struct lane *lane);

/* Forgets all digests, which are sorted. */
void lane_empty(struct lane *lane);

void lane_free(struct lane *lane);

#endif
