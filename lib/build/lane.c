/* SPDX-License-Identifier: MIT
 * Sorted first, then partitioned once there are many. */
#include "build/lane.h"

#include <errno.h>
#include <string.h>

#include "build/sort.h"
#include "os/hugepages.h"

#define MANY      ((size_t)1 << 13) /* digests; fewer are sorted sooner than partitioned */
#define ALIGNMENT 8                 /* digests in a cache line, on which blocks begin */

size_t lane_count(const struct lane *lane)
{
    return lane->count +
           (lane->partitioner != NULL ? partitioner_in_buffers(lane->partitioner) : 0);
}

static int grow(struct lane *lane, size_t most, size_t more)
{
    if (more <= lane->room - lane_count(lane))
        return 0;
    if (more > SIZE_MAX / 2 / sizeof *lane->values - lane->room)
        return ENOMEM;
    size_t room = lane->room + (lane->room > more ? lane->room : more);
    if (room > most)
        room = most;
    uint64_t *values =
        hugepages_grow(lane->values, lane->room * sizeof *values, room * sizeof *values);
    if (values == NULL)
        return ENOMEM;
    lane->values = values;
    lane->room = room;
    return 0;
}

/* What is behind the sorted digests becomes blocks, in place: a block is written no sooner than as
 * many digests have been read. Blocks begin on a cache line, at `blocks`, so a few sorted digests
 * count as new ones. */
static void start_blocks(struct lane *lane, size_t blocks)
{
    const size_t some = lane->count - blocks;
    lane->sorted = lane->blocks = blocks;
    partitioner_add(lane->partitioner, lane->values + blocks, lane->values + blocks, some);
    lane->count = blocks + partitioner_in_blocks(lane->partitioner);
}

static int reserve_partitioner(struct lane *lane, size_t more)
{
    const bool is_new = lane->partitioner == NULL;
    int error = is_new ? partitioner_new(&lane->partitioner) : 0;
    if (error != 0)
        return error;
    const bool starts = is_new || lane_count(lane) == lane->sorted;
    const size_t blocks = starts ? lane->sorted / ALIGNMENT * ALIGNMENT : lane->blocks;
    error = partitioner_reserve(lane->partitioner, lane_count(lane) - blocks + more);
    if (error == 0 && starts)
        start_blocks(lane, blocks);
    if (error != 0 && is_new) {
        partitioner_free(lane->partitioner);
        lane->partitioner = NULL;
    }
    return error;
}

int lane_reserve(struct lane *lane, const struct lane_plan *plan, size_t more)
{
    int error = grow(lane, plan->most, more);
    if (error == 0 &&
        (lane->partitioner != NULL || (plan->partition && lane->count + more >= MANY)))
        error = reserve_partitioner(lane, more);
    return error;
}

void lane_add(struct lane *lane, const uint64_t *digests, size_t n)
{
    if (lane->partitioner == NULL) {
        memcpy(lane->values + lane->count, digests, n * sizeof *digests);
        lane->count += n;
    } else {
        partitioner_add(lane->partitioner, lane->values + lane->blocks, digests, n);
        lane->count = lane->blocks + partitioner_in_blocks(lane->partitioner);
    }
    lane->added += n;
}

void lane_sort(struct lane *lane)
{
    const size_t all = lane_count(lane);
    if (all == lane->sorted)
        return;
    if (lane->partitioner != NULL)
        partitioner_empty(lane->partitioner, lane->values + lane->blocks);
    lane->count = lane->sorted = sort_unique(lane->values, all);
}

void lane_empty(struct lane *lane)
{
    lane->count = lane->sorted = 0;
}

void lane_free(struct lane *lane)
{
    partitioner_free(lane->partitioner);
    hugepages_free(lane->values, lane->room * sizeof *lane->values);
}
