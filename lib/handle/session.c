/* SPDX-License-Identifier: MIT
 * Counts in shards, mutexes, and a mapping that fork() wipes. */
#include "handle/session.h"

#include <errno.h>
#include <sys/mman.h>

int session_new(struct session **out)
{
    *out = NULL;
    void *memory =
        mmap(NULL, sizeof **out, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    if (madvise(memory, sizeof **out, MADV_WIPEONFORK) != 0) {
        int error = errno;
        munmap(memory, sizeof **out);
        return error;
    }
    *out = memory;
    return 0;
}

void session_free(struct session *s)
{
    if (s != NULL)
        munmap(s, sizeof *s);
}

/* Tells threads apart by their stacks, which is cheaper than numbering them. */
static struct session_shard *own_shard(struct session *s)
{
    uint64_t place = (uintptr_t)__builtin_frame_address(0) >> 12;
    return &s->shards[place * 0x9E3779B97F4A7C15u >> 60];
}

_Static_assert(SESSION_SHARDS == 1 << (64 - 60), "own_shard takes the top 4 bits");

void session_count(struct session *s, const struct kernel_change *change)
{
    struct session_shard *shard = own_shard(s);
    if (change->keys != 0)
        atomic_fetch_add_explicit(&shard->keys, change->keys, memory_order_relaxed);
    if (change->ones != 0)
        atomic_fetch_add_explicit(&shard->ones, change->ones, memory_order_relaxed);
    if (change->overflow != 0)
        atomic_fetch_add_explicit(&shard->overflow, change->overflow, memory_order_relaxed);
}

struct kernel_change session_counted(const struct session *s)
{
    struct kernel_change sum = { 0 };
    for (unsigned i = 0; i < SESSION_SHARDS; i++) {
        sum.keys += atomic_load(&s->shards[i].keys);
        sum.ones += atomic_load(&s->shards[i].ones);
        sum.overflow += atomic_load(&s->shards[i].overflow);
    }
    return sum;
}

struct kernel_change session_take(struct session *s)
{
    struct kernel_change sum = { 0 };
    for (unsigned i = 0; i < SESSION_SHARDS; i++) {
        sum.keys += atomic_exchange(&s->shards[i].keys, 0);
        sum.ones += atomic_exchange(&s->shards[i].ones, 0);
        sum.overflow += atomic_exchange(&s->shards[i].overflow, 0);
    }
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
    pthread_mutex_lock(&s->stripe[stripe]);
    int error = lock_wait(fd, LOCK_STRIPES + stripe, 1);
    if (error != 0)
        pthread_mutex_unlock(&s->stripe[stripe]);
    return error;
}

void session_unlock_stripe(struct session *s, int fd, uint64_t digest)
{
    unsigned stripe = stripe_of(digest);
    lock_drop(fd, LOCK_STRIPES + stripe, 1);
    pthread_mutex_unlock(&s->stripe[stripe]);
}

static void unlock_all(struct session *s)
{
    for (unsigned i = LOCK_STRIPE_COUNT; i-- > 0;)
        pthread_mutex_unlock(&s->stripe[i]);
}

int session_lock_stripes(struct session *s, int fd)
{
    for (unsigned i = 0; i < LOCK_STRIPE_COUNT; i++)
        pthread_mutex_lock(&s->stripe[i]);
    int error = lock_wait(fd, LOCK_STRIPES, LOCK_STRIPE_COUNT);
    if (error != 0)
        unlock_all(s);
    return error;
}

void session_unlock_stripes(struct session *s, int fd)
{
    lock_drop(fd, LOCK_STRIPES, LOCK_STRIPE_COUNT);
    unlock_all(s);
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
