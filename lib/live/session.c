/* SPDX-License-Identifier: MIT
 * The state of one process for a live file: counts in shards, mutexes, and a mapping that fork()
 * wipes. */
#include "live/session.h"

#include "os/memory.h"

#define SHARES 4 /* a thread takes 1/4 of the room; all of it if it took room last */

int session_new(struct session **out)
{
    void *memory;
    int error = wipe_on_fork_new(&memory, sizeof **out);
    *out = memory;
    return error;
}

void session_free(struct session *s)
{
    wipe_on_fork_free(s, sizeof *s);
}

size_t session_mapped(void)
{
    return wipe_on_fork_mapped(sizeof(struct session));
}

/* ---- counts */

static void raise_shared(atomic_llong *others, int64_t by)
{
    if (by != 0)
        atomic_fetch_add_explicit(others, by, memory_order_relaxed);
}

bool session_count(struct session *s, const struct kernel_change *change)
{
    struct session_shard *shard = session_shard(s);
    struct session_place *place;
    if (session_owns(s, shard)) {
        place = &shard->own;
        session_raise(&place->counts.keys, change->keys);
        session_raise(&place->counts.ones, change->ones);
        session_raise(&place->counts.overflow, change->overflow);
    } else {
        place = &shard->others;
        raise_shared(&place->counts.keys, change->keys);
        raise_shared(&place->counts.ones, change->ones);
        raise_shared(&place->counts.overflow, change->overflow);
    }
    return session_room_of(place) <= 0;
}

/* The first shard is always used: failed commits return their counts to it. */
static bool is_used(const struct session *s, const struct session_shard *t)
{
    return t == s->shards || atomic_load(&t->owner) != 0;
}

static int64_t untaken(const atomic_llong *own, const atomic_llong *others,
                       const atomic_llong *taken)
{
    return atomic_load(own) + atomic_load(others) - atomic_load(taken);
}

struct kernel_change session_counted(const struct session *s)
{
    struct kernel_change sum = { 0 };
    for (const struct session_shard *t = s->shards; t < s->shards + SESSION_SHARDS; t++) {
        if (!is_used(s, t))
            continue;
        const struct session_counts *own = &t->own.counts, *others = &t->others.counts;
        sum.keys += untaken(&own->keys, &others->keys, &t->taken.keys);
        sum.ones += untaken(&own->ones, &others->ones, &t->taken.ones);
        sum.overflow += untaken(&own->overflow, &others->overflow, &t->taken.overflow);
    }
    return sum;
}

static int64_t take_counted(const atomic_llong *own, const atomic_llong *others,
                            atomic_llong *taken)
{
    const int64_t value = atomic_load(own) + atomic_load(others);
    return value - atomic_exchange(taken, value);
}

static struct kernel_change take_all(struct session *s)
{
    struct kernel_change sum = { 0 };
    for (struct session_shard *t = s->shards; t < s->shards + SESSION_SHARDS; t++) {
        const struct session_counts *own = &t->own.counts, *others = &t->others.counts;
        sum.keys += take_counted(&own->keys, &others->keys, &t->taken.keys);
        sum.ones += take_counted(&own->ones, &others->ones, &t->taken.ones);
        sum.overflow += take_counted(&own->overflow, &others->overflow, &t->taken.overflow);
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
    struct session_counts *taken = &s->shards[0].taken;
    pthread_mutex_lock(&s->counts);
    if (!committed) {
        atomic_fetch_sub(&taken->keys, s->committing.keys);
        atomic_fetch_sub(&taken->ones, s->committing.ones);
        atomic_fetch_sub(&taken->overflow, s->committing.overflow);
    }
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

/* ---- room for keys */

static void set_room(struct session_place *place, int64_t room)
{
    const long long keys = atomic_load_explicit(&place->counts.keys, memory_order_relaxed);
    atomic_store_explicit(&place->until, keys + room, memory_order_relaxed);
}

int64_t session_take_room(struct session *s, uint64_t n)
{
    struct session_place *place = session_place(s);
    const int64_t has = session_room(s) > 0 ? session_room(s) : 0;
    if ((uint64_t)has >= n || s->room <= 0)
        return has;
    const uint64_t share = (uint64_t)s->room / (s->roomy == place ? 1 : SHARES),
                   lacks = n - (uint64_t)has;
    uint64_t more = share > lacks ? share : lacks;
    more = more < (uint64_t)s->room ? more : (uint64_t)s->room;
    s->room -= (int64_t)more;
    s->roomy = place;
    set_room(place, has + (int64_t)more);
    return has + (int64_t)more;
}

void session_drop_room(struct session *s)
{
    for (struct session_shard *t = s->shards; t < s->shards + SESSION_SHARDS; t++) {
        if (!is_used(s, t))
            continue;
        set_room(&t->own, 0);
        set_room(&t->others, 0);
    }
    s->room = 0;
}

/* ---- locks: mutexes between threads first, because all threads of a process are one holder of
 * file locks */

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
