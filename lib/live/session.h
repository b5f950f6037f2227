/* SPDX-License-Identifier: MIT
 * A process's share of a live file: whether it opened the file itself and joined its writers, what
 * it has added since its last commit, and the locks between its threads. fork() wipes it: a child
 * has not opened, joined or added, and does not hold a lock. */
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

/* Those that are raised here and never taken back. */
struct session_place {
    struct session_counts counts;
    atomic_llong until; /* what counts.keys may become before there must be more room */
};

struct session {
    bool own;              /* opened by this process; under `syncs` */
    atomic_bool joined;    /* the writers */
    atomic_bool has_room;  /* there was room for keys when they were last counted */
    bool alone;            /* one thread counts at a time: it owns the first shard */
    bool turn;             /* protocol_lock_turn() holds LOCK_WRITERS exclusively */
    bool fast;             /* the last stretch of adds did not wait for a disk (adding.h) */
    size_t stretch;        /* digests of the present stretch of adds; 0: no stretch */
    uint64_t began;        /* when the stretch began, in nanoseconds of CLOCK_MONOTONIC */
    uint64_t spell, ended; /* when turns began after the last gap; when the last turn ended */
    void *sole;            /* protocol_lock_sole(); NULL: LOCK_WRITERS is shared, or not held */
    pthread_mutex_t syncs; /* held to join, to sync and to commit */
    /* the highest that were read or written; ones: of records whose counts are complete */
    atomic_uint_least64_t sequences, ones;
    uint64_t durable;       /* 1 + sequence of a record that is known to be on disk; 0: none is */
    pthread_mutex_t counts; /* held while they move to a record, and to read both */
    struct kernel_change committing; /* counts on their way to a record, */
    uint64_t committing_over;        /* which comes after the one of this sequence */
    pthread_mutex_t asking;          /* held to give room to a thread */
    struct session_last {            /* the record in force when keys were last counted; */
        bool known;                  /* under `asking` */
        uint64_t sequences[2];       /* of both */
        struct record record;
    } last;
    int64_t room;                /* keys that no thread has room for yet; under `asking` */
    struct session_place *roomy; /* which took some last */
    pthread_mutex_t removal;
    pthread_rwlock_t stripes; /* shared by those who hold one */
    pthread_mutex_t stripe[LOCK_STRIPE_COUNT];
    struct session_shard {
        _Alignas(64) atomic_uintptr_t owner; /* the first thread that counted here; 0: none has */
        struct session_place own;            /* by the owner alone */
        struct session_counts taken;         /* by session_take(), of both */
        _Alignas(64) struct session_place others;
    } shards[SESSION_SHARDS]; /* nearly one for each thread */
};

/* 0 or an errno. */
int session_new(struct session **out);
void session_free(struct session *s);

/* Bytes of the mapping that it has. */
size_t session_mapped(void);

/* Whether the process has joined the writers, and has room for one key. */
static inline bool session_is_ready(struct session *s)
{
    return atomic_load_explicit(&s->joined, memory_order_acquire) &&
           atomic_load_explicit(&s->has_room, memory_order_relaxed);
}

/* The system gives the identity of a thread that has ended to a new one, which then owns its shard.
 */
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

/* Whether the calling thread is its owner, or becomes it. */
static inline bool session_owns(const struct session *s, struct session_shard *shard)
{
    if (s->alone)
        return true;
    const uintptr_t self = session_self();
    uintptr_t owner = atomic_load_explicit(&shard->owner, memory_order_relaxed);
    return owner == self ||
           (owner == 0 && atomic_compare_exchange_strong(&shard->owner, &owner, self));
}

/* Where the calling thread counts. */
static inline struct session_place *session_place(struct session *s)
{
    struct session_shard *shard = session_shard(s);
    return session_owns(s, shard) ? &shard->own : &shard->others;
}

/* How many keys there is room for. */
static inline int64_t session_room_of(const struct session_place *place)
{
    return atomic_load_explicit(&place->until, memory_order_relaxed) -
           atomic_load_explicit(&place->counts.keys, memory_order_relaxed);
}

static inline int64_t session_room(struct session *s)
{
    return session_room_of(session_place(s));
}

/* Gives the calling thread room from s->room, for n keys if there is as much, and some for the next
 * calls. Returns session_room(). Holds `asking`, as does session_drop_room(). */
int64_t session_take_room(struct session *s, uint64_t n);

/* Takes the room of all threads back; to their adds under way it stays. */
void session_drop_room(struct session *s);

/* Counts what was changed; any thread. Whether that has used up the thread's room. */
bool session_count(struct session *s, const struct kernel_change *change);

/* Without a locked instruction, which would take longer than the rest of a repeated add. */
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

/* What has been counted and is not on its way to a record. */
struct kernel_change session_counted(const struct session *s);

/* Takes what has been counted to a record, over the one of `sequence`. session_taken() is due: with
 * `committed` false it is given back. One commit at a time. */
struct kernel_change session_take(struct session *s, uint64_t sequence);
void session_taken(struct session *s, bool committed);

/* What the record of `sequence` lacks. The record must be read, and this called, with `counts`
 * held. */
struct kernel_change session_missing(const struct session *s, uint64_t sequence);

/* For BLOOMFILE_OPEN_ADD_EXACT: keeps everybody else, here and in other processes, from adding keys
 * of the digest's stripe, or of any. 0, or an errno and nothing is held. */
int session_lock_stripe(struct session *s, int fd, uint64_t digest);
void session_unlock_stripe(struct session *s, int fd, uint64_t digest);
int session_lock_stripes(struct session *s, int fd);
void session_unlock_stripes(struct session *s, int fd);

/* Keeps everybody else from removing. */
int session_lock_removal(struct session *s, int fd);
void session_unlock_removal(struct session *s, int fd);

#endif
