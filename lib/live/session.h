/* SPDX-License-Identifier: MIT
 * The state of one process for a live file: whether it opened the file and joined its writers, its
 * adds since its last commit, and the locks between its threads. fork() wipes it: a child has not
 * opened the file, joined or added, and holds no lock. */
#ifndef BLOOMFILE_LIVE_SESSION_H
#define BLOOMFILE_LIVE_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "format/header.h"
#include "kernel/kernel.h"
#include "live/lock_bytes.h"

#define SESSION_SHARDS 16

struct session_counts {
    atomic_llong keys, ones, overflow;
};

/* Running totals. A commit does not decrement them: it records in `taken` how much it took. */
struct session_place {
    struct session_counts counts;
    atomic_llong until; /* value of counts.keys at which the room is used up */
};

struct session {
    bool own;              /* this process opened the file; protected by `syncs` */
    atomic_bool joined;    /* the process has joined the writers */
    atomic_bool has_room;  /* the last count left room for keys */
    bool alone;            /* only one thread at a time counts; it owns the first shard */
    bool unclean;          /* it joined an unclean file, and has not synced it since */
    bool turn;             /* protocol_lock_turn() holds LOCK_WRITERS exclusively */
    bool fast;             /* the last stretch did not wait for a disk (adding.h) */
    size_t stretch;        /* digests in the current stretch of adds; 0: no stretch */
    uint64_t began;        /* start of the stretch, in nanoseconds of CLOCK_MONOTONIC */
    uint64_t spell, ended; /* start of the turns since the last gap; end of the last turn */
    void *sole;            /* protocol_lock_sole(); NULL: LOCK_WRITERS is shared, or not held */
    pthread_mutex_t syncs; /* held while joining, syncing and committing */
    /* The highest values read or written. ones: only from records with complete counts. */
    atomic_uint_least64_t sequences, ones;
    uint64_t durable;       /* 1 + sequence of a record known to be on disk; 0: not known */
    pthread_mutex_t counts; /* held while counts move to a record, and while both are read */
    struct kernel_change committing; /* counts that a commit is writing... */
    uint64_t committing_over;        /* ...to the record after this sequence */
    pthread_mutex_t room_lock;       /* held while a thread takes room */
    struct session_last {            /* the record in force at the last count... */
        bool known;                  /* ...protected by `room_lock` */
        uint64_t sequences[2];       /* of both records */
        struct record record;
    } last;
    int64_t room;                /* room that no thread has taken yet; protected by `room_lock` */
    struct session_place *roomy; /* the place that took room last */
    pthread_mutex_t removal;
    pthread_rwlock_t stripes; /* shared while a thread holds a single stripe */
    pthread_mutex_t stripe[LOCK_STRIPE_COUNT];
    struct session_shard {
        _Alignas(64) atomic_uintptr_t owner; /* the first thread that counted here, or 0 */
        struct session_place own;            /* written only by the owner */
        struct session_counts taken;         /* by session_take(), from both places */
        _Alignas(64) struct session_place others;
    } shards[SESSION_SHARDS]; /* spread over threads, so that most threads own one */
};

/* Returns 0 or an errno. */
int session_new(struct session **out);
void session_free(struct session *s);

/* The size of a session's mapping, in bytes. */
size_t session_mapped(void);

/* Returns whether the process has joined the writers and has room for a key. */
static inline bool session_is_ready(struct session *s)
{
    return atomic_load_explicit(&s->joined, memory_order_acquire) &&
           atomic_load_explicit(&s->has_room, memory_order_relaxed);
}

/* pthread_self() of an ended thread may be reused: the new thread then owns the same shard. */
static inline uintptr_t session_self(void)
{
    return (uintptr_t)pthread_self();
}

_Static_assert(SESSION_SHARDS == 1 << (64 - 60), "a shard is chosen by the top 4 bits");

static inline struct session_shard *session_shard(struct session *s)
{
    if (s->alone)
        return s->shards;
    return &s->shards[(uint64_t)session_self() * 0x9E3779B97F4A7C15u >> 60];
}

/* Returns whether the calling thread owns the shard, or becomes its owner. */
static inline bool session_owns(const struct session *s, struct session_shard *shard)
{
    if (s->alone)
        return true;
    const uintptr_t self = session_self();
    uintptr_t owner = atomic_load_explicit(&shard->owner, memory_order_relaxed);
    return owner == self ||
           (owner == 0 && atomic_compare_exchange_strong(&shard->owner, &owner, self));
}

/* The counters that the calling thread adds to. */
static inline struct session_place *session_place(struct session *s)
{
    struct session_shard *shard = session_shard(s);
    return session_owns(s, shard) ? &shard->own : &shard->others;
}

/* The number of keys for which this place has room. */
static inline int64_t session_room_of(const struct session_place *place)
{
    return atomic_load_explicit(&place->until, memory_order_relaxed) -
           atomic_load_explicit(&place->counts.keys, memory_order_relaxed);
}

static inline int64_t session_room(struct session *s)
{
    return session_room_of(session_place(s));
}

/* Moves room from s->room to the calling thread: for n keys if there is enough, and some for later
 * calls. Returns session_room(). The caller holds `room_lock`, also for session_drop_room(). */
int64_t session_take_room(struct session *s, uint64_t n);

/* Cancels the room of all threads, except for adds in progress. */
void session_drop_room(struct session *s);

/* Counts a change, from any thread. Returns whether the thread's room is used up. */
bool session_count(struct session *s, const struct kernel_change *change);

/* Only one thread writes `own`. A locked instruction would take longer than the rest of a repeated
 * add. */
static inline void session_raise(atomic_llong *own, int64_t by)
{
    const long long value = atomic_load_explicit(own, memory_order_relaxed);
    atomic_store_explicit(own, value + by, memory_order_relaxed);
}

/* session_count() for one new key. */
static inline bool session_count_key(struct session *s, unsigned ones)
{
    struct session_shard *shard = session_shard(s);
    if (!session_owns(s, shard))
        return session_count(s, &(struct kernel_change){ .keys = 1, .ones = ones });
    session_raise(&shard->own.counts.keys, 1);
    session_raise(&shard->own.counts.ones, ones);
    return session_room_of(&shard->own) <= 0;
}

/* Returns the counts that no commit has taken. */
struct kernel_change session_counted(const struct session *s);

/* Takes the counts for the commit that follows the record of `sequence`. The caller must then call
 * session_taken(), which returns the counts if not `committed`. One commit at a time. */
struct kernel_change session_take(struct session *s, uint64_t sequence);
void session_taken(struct session *s, bool committed);

/* Returns the counts that the record of `sequence` lacks. Hold the mutex `counts` from reading the
 * record until after this call; otherwise a commit in between is missed or counted twice. */
struct kernel_change session_missing(const struct session *s, uint64_t sequence);

/* Locks of exact adders (BLOOMFILE_OPEN_ADD_EXACT): keep other threads and processes from adding
 * keys of the digest's stripe, or of all stripes. Return 0; or an errno, and then hold no lock. */
int session_lock_stripe(struct session *s, int fd, uint64_t digest);
void session_unlock_stripe(struct session *s, int fd, uint64_t digest);
int session_lock_stripes(struct session *s, int fd);
void session_unlock_stripes(struct session *s, int fd);

/* Locks out all other removers. */
int session_lock_removal(struct session *s, int fd);
void session_unlock_removal(struct session *s, int fd);

#endif
