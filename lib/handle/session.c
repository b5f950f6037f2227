/* SPDX-License-Identifier: MIT
 * Counts in shards, mutexes, and a mapping that fork() wipes. */
#include "handle/session.h"

#include "os/wiped.h"

int session_new(struct session **out)
{
    void *memory;
    int error = wiped_new(&memory, sizeof **out);
    *out = memory;
    return error;
}

void session_free(struct session *s)
{
    wiped_free(s, sizeof *s);
}

/* The system gives the identity of a thread that has ended to a new one, which then owns its shard.
 */
static uintptr_t self(void)
{
    return (uintptr_t)pthread_self();
}

static struct session_shard *own_shard(struct session *s)
{
    return &s->shards[(uint64_t)self() * 0x9E3779B97F4A7C15u >> 60];
}

_Static_assert(SESSION_SHARDS == 1 << (64 - 60), "own_shard takes the top 4 bits");

/* Without a locked instruction, which would take longer than all else that a repeated add does. */
static void raise(atomic_llong *own, int64_t by)
{
    const long long value = atomic_load_explicit(own, memory_order_relaxed);
    atomic_store_explicit(own, value + by, memory_order_relaxed);
}

static void raise_shared(atomic_llong *others, int64_t by)
{
    if (by != 0)
        atomic_fetch_add_explicit(others, by, memory_order_relaxed);
}

static bool owns(struct session_shard *shard)
{
    uintptr_t owner = atomic_load_explicit(&shard->owner, memory_order_relaxed);
    return owner == self() ||
           (owner == 0 && atomic_compare_exchange_strong(&shard->owner, &owner, self()));
}

void session_count(struct session *s, const struct kernel_change *change)
{
    if (change->keys == 0 && change->ones == 0 && change->overflow == 0)
        return;
    struct session_shard *shard = own_shard(s);
    const bool owner = owns(shard);
    struct session_counts *counts = owner ? &shard->own : &shard->others;
    void (*add)(atomic_llong *, int64_t) = owner ? raise : raise_shared;
    add(&counts->keys, change->keys);
    add(&counts->ones, change->ones);
    add(&counts->overflow, change->overflow);
}

static int64_t untaken(const atomic_llong *own, const atomic_llong *taken,
                       const atomic_llong *others)
{
    return atomic_load(own) - atomic_load(taken) + atomic_load(others);
}

struct kernel_change session_counted(const struct session *s)
{
    struct kernel_change sum = { 0 };
    for (const struct session_shard *t = s->shards; t < s->shards + SESSION_SHARDS; t++) {
        sum.keys += untaken(&t->own.keys, &t->taken.keys, &t->others.keys);
        sum.ones += untaken(&t->own.ones, &t->taken.ones, &t->others.ones);
        sum.overflow += untaken(&t->own.overflow, &t->taken.overflow, &t->others.overflow);
    }
    return sum;
}

static int64_t take(const atomic_llong *own, atomic_llong *taken, atomic_llong *others)
{
    const int64_t value = atomic_load(own);
    return value - atomic_exchange(taken, value) + atomic_exchange(others, 0);
}

static struct kernel_change take_all(struct session *s)
{
    struct kernel_change sum = { 0 };
    for (struct session_shard *t = s->shards; t < s->shards + SESSION_SHARDS; t++) {
        sum.keys += take(&t->own.keys, &t->taken.keys, &t->others.keys);
        sum.ones += take(&t->own.ones, &t->taken.ones, &t->others.ones);
        sum.overflow += take(&t->own.overflow, &t->taken.overflow, &t->others.overflow);
    }
    return sum;
}

struct kernel_change session_take(struct session *s, uint64_t sequence)
{
    pthread_mutex_lock(&s->counts);
    const struct kernel_change counted = s->committing = take_all(s);
    s->committing_over = sequence;
    pthread_mutex_unlock(&s->counts);
    return counted;
}

void session_taken(struct session *s, bool committed)
{
    pthread_mutex_lock(&s->counts);
    if (!committed)
        session_count(s, &s->committing);
    s->committing = (struct kernel_change){ 0 };
    pthread_mutex_unlock(&s->counts);
}

struct kernel_change session_missing(const struct session *s, uint64_t sequence)
{
    struct kernel_change sum = session_counted(s);
    if (sequence > s->committing_over)
        return sum;
    sum.keys += s->committing.keys;
    sum.ones += s->committing.ones;
    sum.overflow += s->committing.overflow;
    return sum;
}

/* ---- locks: between threads first, since all threads of a process are one holder of a file's */

static unsigned stripe_of(uint64_t digest)
{
    return (unsigned)(digest >> 58);
}

_Static_assert(LOCK_STRIPE_COUNT == 1 << (64 - 58), "stripe_of takes the top 6 bits");

int session_lock_stripe(struct session *s, int fd, uint64_t digest)
{
    unsigned stripe = stripe_of(digest);
    pthread_rwlock_rdlock(&s->stripes);
    pthread_mutex_lock(&s->stripe[stripe]);
    int error = lock_wait(fd, LOCK_STRIPES + stripe, 1);
    if (error != 0) {
        pthread_mutex_unlock(&s->stripe[stripe]);
        pthread_rwlock_unlock(&s->stripes);
    }
    return error;
}

void session_unlock_stripe(struct session *s, int fd, uint64_t digest)
{
    unsigned stripe = stripe_of(digest);
    lock_drop(fd, LOCK_STRIPES + stripe, 1);
    pthread_mutex_unlock(&s->stripe[stripe]);
    pthread_rwlock_unlock(&s->stripes);
}

int session_lock_stripes(struct session *s, int fd)
{
    pthread_rwlock_wrlock(&s->stripes);
    int error = lock_wait(fd, LOCK_STRIPES, LOCK_STRIPE_COUNT);
    if (error != 0)
        pthread_rwlock_unlock(&s->stripes);
    return error;
}

void session_unlock_stripes(struct session *s, int fd)
{
    lock_drop(fd, LOCK_STRIPES, LOCK_STRIPE_COUNT);
    pthread_rwlock_unlock(&s->stripes);
}

int session_lock_removal(struct session *s, int fd)
{
    pthread_mutex_lock(&s->removal);
    int error = lock_wait(fd, LOCK_REMOVERS, 1);
    if (error != 0)
        pthread_mutex_unlock(&s->removal);
    return error;
}

void session_unlock_removal(struct session *s, int fd)
{
    lock_drop(fd, LOCK_REMOVERS, 1);
    pthread_mutex_unlock(&s->removal);
}
