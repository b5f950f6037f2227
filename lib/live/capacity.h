/* SPDX-License-Identifier: MIT
 * The limit on the number of keys: a live filter accepts keys until its rate is twice the target, a
 * layer of a series until it holds as many keys as its capacity. */
#ifndef BLOOMFILE_LIVE_CAPACITY_H
#define BLOOMFILE_LIVE_CAPACITY_H

#include "live/handle.h"

#define CAPACITY_UNLIMITED UINT64_MAX

/* The number of keys that a live image accepts. */
uint64_t capacity_limit(const struct header *h, unsigned flags);

/* Reserves room for the calling thread. *some: in, the number of keys to add; out, the number of
 * leading keys that may be added now, at least 1. Keys that are present need no room. Returns
 * BLOOMFILE_EFULL if the first key is not present and no room is left. */
int capacity_take(const bloomfile_filter *f, const uint64_t *digests, size_t *some);

/* Reserves room again after the thread has used it up. */
void capacity_renew(const bloomfile_filter *f);

/* Returns whether the calling thread has room for n keys. A process reserves room in the image, and
 * its threads reserve parts of that. All reservations together are at most 0.5% of the limit, by
 * which writers may exceed it. For a single key this checks only a flag, which capacity_count()
 * maintains. */
static inline bool capacity_has(const bloomfile_filter *f, size_t n)
{
    return n == 1 ? atomic_load_explicit(&f->live->session->has_room, memory_order_relaxed)
                  : session_room(f->live->session) >= (int64_t)n;
}

/* Counts an add, and reserves more room if the thread has used up its own. */
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
