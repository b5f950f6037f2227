/* SPDX-License-Identifier: MIT
 * The number of keys that a live image may still get: a filter until its rate is twice the target,
 * a layer until it has as many as its capacity. */
#ifndef BLOOMFILE_LIVE_CAPACITY_H
#define BLOOMFILE_LIVE_CAPACITY_H

#include "live/handle.h"

#define CAPACITY_UNLIMITED UINT64_MAX

/* How many keys a live image may have. */
uint64_t capacity_limit(const struct header *h, unsigned flags);

/* Reserves room for the calling thread. *some: the number of keys it wants to add; receives how
 * many of these, from the first on, may be added now: at least 1. Present keys need no room.
 * BLOOMFILE_EFULL: the first key is not present, and there is no room left. */
int capacity_take(const bloomfile_filter *f, const uint64_t *digests, size_t *some);

/* Takes room for the next key. */
void capacity_renew(const bloomfile_filter *f);

/* Whether the calling thread has room for n keys. It takes some from its process now and then, and
 * the process from the image: all writers together 0.5% of the limit, which may be too many. A
 * single key looks at a flag alone, which capacity_count() keeps. */
static inline bool capacity_has(const bloomfile_filter *f, size_t n)
{
    return n == 1 ? atomic_load_explicit(&f->live->session->has_room, memory_order_relaxed)
                  : session_room(f->live->session) >= (int64_t)n;
}

/* Counts what was added, and takes room for the next key. */
static inline void capacity_count(const bloomfile_filter *f, const struct kernel_change *change)
{
    const bool changed = change->keys != 0 || change->ones != 0 || change->overflow != 0;
    if (changed && session_count(f->live->session, change) && f->live->limit != CAPACITY_UNLIMITED)
        capacity_renew(f);
}

static inline void capacity_count_key(const bloomfile_filter *f, unsigned ones)
{
    if (session_count_key(f->live->session, ones) && f->live->limit != CAPACITY_UNLIMITED)
        capacity_renew(f);
}

#endif
