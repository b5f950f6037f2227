/* SPDX-License-Identifier: MIT
 * Digests in one array: sorted ones first, newer ones behind them. Once there are many new ones,
 * they are partitioned as they arrive. */
#ifndef BLOOMFILE_LANE_H
#define BLOOMFILE_LANE_H

#include <stdbool.h>

#include "build/partitioner.h"

struct lane {
    uint64_t *values;
    size_t count, room;
    size_t sorted; /* this many at the start are ascending and distinct */
    struct partitioner
        *partitioner; /* NULL: the rest is in order of arrival; else it is in blocks... */
    size_t blocks;    /* ...from this place on, and in buffers, which `count` leaves out */
    uint64_t added;   /* ever */
};

struct lane_plan {
    bool partition; /* memory suffices for partitions */
    size_t most;    /* digests to hold */
};

/* How many digests it holds. */
size_t lane_count(const struct lane *lane);

/* Makes room for `more`, at most plan->most in all. 0 or ENOMEM. */
int lane_reserve(struct lane *lane, const struct lane_plan *plan, size_t more);

/* Adds digests; there is room for them. */
void lane_add(struct lane *lane, const uint64_t *digests, size_t n);

/* Sorts all digests and drops repetitions. */
void lane_sort(struct lane *lane);

/* Forgets all digests. They are sorted. */
void lane_empty(struct lane *lane);

void lane_free(struct lane *lane);

#endif
