/* SPDX-License-Identifier: MIT */
#include "digests.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "map.h"
#include "sort.h"
#include "spool.h"
#include "team.h"

#define CACHE_LINE 64
#define AT_ONCE    1024 /* digests that are shared out among lanes, each lane being locked once */
#define SLICES_LOG 8    /* of the digests, which threads take when they count */

struct lane {
    pthread_mutex_t lock; /* of the lane, unless there is only one */
    uint64_t *values;
    size_t count, room;
    size_t sorted;  /* so many at the start are ascending and distinct */
    uint64_t added; /* ever */
    uint8_t apart[CACHE_LINE];
};

struct digests {
    struct digests_plan plan;
    unsigned count; /* of lanes */
    struct lane *lanes;
    pthread_mutex_t spool_lock; /* of the spool and the list of runs in it */
    uint64_t spool_size;
    struct runs runs; /* `spooled` runs in the spool; behind them, those of lanes */
    size_t spooled;
    uint64_t counted, counted_of; /* distinct ones, when so many had been added */
};

int digests_new(struct digests **out, const struct digests_plan *plan)
{
    struct digests *d = *out = calloc(1, sizeof *d);
    if (d == NULL)
        return ENOMEM;
    d->plan = *plan;
    d->runs.lane_bits = plan->lane_bits;
    d->count = 1u << plan->lane_bits;
    d->runs.fd = -1;
    pthread_mutex_init(&d->spool_lock, NULL);
    d->lanes = calloc(d->count, sizeof *d->lanes);
    if (d->lanes == NULL) {
        digests_free(d);
        *out = NULL;
        return ENOMEM;
    }
    for (unsigned i = 0; i < d->count; i++)
        pthread_mutex_init(&d->lanes[i].lock, NULL);
    return 0;
}

void digests_free(struct digests *d)
{
    if (d == NULL)
        return;
    for (unsigned i = 0; d->lanes != NULL && i < d->count; i++) {
        pthread_mutex_destroy(&d->lanes[i].lock);
        free(d->lanes[i].values);
    }
    pthread_mutex_destroy(&d->spool_lock);
    if (d->runs.fd >= 0)
        close(d->runs.fd);
    free(d->lanes);
    free(d->runs.list);
    free(d);
}

static void sort_lane(struct lane *lane)
{
    if (lane->sorted != lane->count)
        lane->count = lane->sorted = sort_unique(lane->values, lane->count);
}

/* ---- adding */

static struct run run_of(const struct lane *lane)
{
    return (struct run){ .count = lane->count,
                         .least = lane->values[0],
                         .greatest = lane->values[lane->count - 1] };
}

static int spool_lane(struct digests *d, const struct lane *lane)
{
    struct run run = run_of(lane);
    const size_t size = lane->count * sizeof *lane->values;
    int error = runs_reserve(&d->runs, d->spooled + 1);
    if (error == 0 && d->runs.fd < 0)
        error = spool_file(d->plan.folder, &d->runs.fd);
    if (error == 0)
        error = map_write(d->runs.fd, d->spool_size, lane->values, size);
    if (error != 0)
        return error;
    for (size_t i = 0; i < lane->count; i++)
        d->runs.sum += lane->values[i];
    run.offset = d->spool_size;
    d->spool_size += size;
    d->runs.list[d->spooled++] = run;
    return 0;
}

/* Of a lane that is full. */
static int make_way(struct digests *d, struct lane *lane)
{
    sort_lane(lane);
    if (lane->count <= d->plan.lane_most / 2)
        return 0;
    pthread_mutex_lock(&d->spool_lock);
    int error = spool_lane(d, lane);
    pthread_mutex_unlock(&d->spool_lock);
    if (error == 0)
        lane->count = lane->sorted = 0;
    return error;
}

static int make_room(const struct digests *d, struct lane *lane, size_t more)
{
    if (more <= lane->room - lane->count)
        return 0;
    if (more > SIZE_MAX / 2 / sizeof *lane->values - lane->room)
        return ENOMEM;
    size_t room = lane->room + (lane->room > more ? lane->room : more);
    if (room > d->plan.lane_most)
        room = d->plan.lane_most;
    uint64_t *values = realloc(lane->values, room * sizeof *values);
    if (values == NULL)
        return ENOMEM;
    lane->values = values;
    lane->room = room;
    return 0;
}

/* Makes places for `more` digests, at most half of what a lane may hold. */
static int make_places(struct digests *d, struct lane *lane, size_t more)
{
    int error = more > d->plan.lane_most - lane->count ? make_way(d, lane) : 0;
    return error != 0 ? error : make_room(d, lane, more);
}

static int add_to_only_lane(struct digests *d, const uint64_t *digests, size_t n)
{
    struct lane *lane = &d->lanes[0];
    while (n > 0) {
        size_t now = n <= d->plan.lane_most / 2 ? n : d->plan.lane_most / 2;
        int error = make_places(d, lane, now);
        if (error != 0)
            return error;
        memcpy(lane->values + lane->count, digests, now * sizeof *digests);
        lane->count += now;
        lane->added += now;
        digests += now;
        n -= now;
    }
    return 0;
}

static inline unsigned lane_of(const struct digests *d, uint64_t digest)
{
    return (unsigned)(digest >> (64 - d->plan.lane_bits));
}

/* Adds those of the digests that belong into a lane, and unlocks it. */
static int add_to_lane(struct digests *d, unsigned number, const uint64_t *digests, size_t n)
{
    struct lane *lane = &d->lanes[number];
    int error = make_places(d, lane, n);
    if (error == 0) {
        size_t count = lane->count;
        for (size_t i = 0; i < n; i++) {
            lane->values[count] = digests[i];
            count += lane_of(d, digests[i]) == number;
        }
        lane->added += count - lane->count;
        lane->count = count;
    }
    pthread_mutex_unlock(&lane->lock);
    return error;
}

/* To each lane that has digests among these, the ones first that no other thread is using. */
static int add_to_lanes(struct digests *d, const uint64_t *digests, size_t n)
{
    uint32_t waiting = 0;
    for (size_t i = 0; i < n; i++)
        waiting |= (uint32_t)1 << lane_of(d, digests[i]);
    while (waiting != 0) {
        uint32_t before = waiting;
        for (unsigned l = 0; l < d->count; l++) {
            if ((waiting >> l & 1) == 0 || pthread_mutex_trylock(&d->lanes[l].lock) != 0)
                continue;
            int error = add_to_lane(d, l, digests, n);
            if (error != 0)
                return error;
            waiting &= ~((uint32_t)1 << l);
        }
        if (waiting != before)
            continue;
        unsigned first = (unsigned)__builtin_ctz(waiting);
        pthread_mutex_lock(&d->lanes[first].lock);
        int error = add_to_lane(d, first, digests, n);
        if (error != 0)
            return error;
        waiting &= waiting - 1;
    }
    return 0;
}

int digests_add(struct digests *d, const uint64_t *digests, size_t n)
{
    if (d->count == 1)
        return add_to_only_lane(d, digests, n);
    int error = 0;
    for (size_t at = 0; at < n && error == 0; at += AT_ONCE)
        error = add_to_lanes(d, digests + at, n - at < AT_ONCE ? n - at : AT_ONCE);
    return error;
}

/* ---- reading */

struct sorting {
    struct digests *d;
    atomic_uint next;
};

static void sort_lanes(void *context)
{
    struct sorting *s = context;
    for (unsigned i; (i = atomic_fetch_add(&s->next, 1)) < s->d->count;)
        sort_lane(&s->d->lanes[i]);
}

const struct runs *digests_runs(struct digests *d)
{
    if (runs_reserve(&d->runs, d->spooled + d->count) != 0)
        return NULL;
    struct sorting sorting = { .d = d };
    team_run(d->plan.threads, sort_lanes, &sorting);
    d->runs.count = d->spooled;
    for (unsigned i = 0; i < d->count; i++) {
        if (d->lanes[i].count == 0)
            continue;
        struct run *run = &d->runs.list[d->runs.count++];
        *run = run_of(&d->lanes[i]);
        run->values = d->lanes[i].values;
    }
    return &d->runs;
}

struct counting {
    const struct digests *d;
    atomic_uint next;
    atomic_int error;
    atomic_uint_least64_t distinct, sum;
};

static void count_some(void *context, const uint64_t *digests, size_t n)
{
    (void)digests;
    *(uint64_t *)context += n;
}

static void count_slices(void *context)
{
    struct counting *c = context;
    struct reader *reader;
    uint64_t distinct = 0;
    int error = runs_reader(&reader, &c->d->runs, c->d->plan.room);
    while (error == 0 && atomic_load(&c->error) == 0) {
        uint64_t slice = atomic_fetch_add(&c->next, 1);
        if (slice >> SLICES_LOG != 0)
            break;
        uint64_t first = slice << (64 - SLICES_LOG), last = first + (UINT64_MAX >> SLICES_LOG);
        error = runs_read(reader, first, last, count_some, &distinct);
    }
    if (error != 0)
        atomic_store(&c->error, error);
    atomic_fetch_add(&c->distinct, distinct);
    atomic_fetch_add(&c->sum, reader != NULL ? runs_reader_sum(reader) : 0);
    runs_reader_free(reader);
}

int digests_count(struct digests *d, uint64_t *count)
{
    uint64_t added = 0;
    for (unsigned i = 0; i < d->count; i++)
        added += d->lanes[i].added;
    if (d->counted_of != added) {
        if (digests_runs(d) == NULL)
            return ENOMEM;
        struct counting c = { .d = d };
        team_run(d->plan.threads, count_slices, &c);
        if (c.error != 0 || c.sum != d->runs.sum)
            return c.error != 0 ? c.error : EIO;
        d->counted = c.distinct;
        d->counted_of = added;
    }
    *count = d->counted;
    return 0;
}
