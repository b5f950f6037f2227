/* SPDX-License-Identifier: MIT
 *
 * Adds by one to four threads or processes. A filter for each measurement, so that all begin with
 * an empty one; its workers have it in their page tables and are writers before the clock starts.
 */
#include <bloomfile_live.h>
#include <pthread.h>
#include <stdio.h>

#include "bench.h"
#include "live.h"
#include "live_crew.h"

#define KEYS       4000000
#define QUICK_KEYS 1000000
#define SIZES      3

static const unsigned sizes[SIZES] = { 1, 2, 4 };

struct adding {
    bloomfile *f;
    unsigned workers;
    size_t keys;               /* of all workers */
    bloomfile_digest *digests; /* shared */
    struct adding_shared {
        pthread_mutex_t mutex;
        uint64_t new_keys[CREW_MAX];
    } * shared;
};

/* A worker's part of the digests. */
static size_t part_begin(const struct adding *a, unsigned worker)
{
    return a->keys * worker / a->workers;
}

static size_t part_size(const struct adding *a, unsigned worker)
{
    return part_begin(a, worker + 1) - part_begin(a, worker);
}

static void prepare(void *context, unsigned worker)
{
    struct adding *a = context;
    bloomfile_digest *digests = a->digests + part_begin(a, worker);
    bench_digests(bloomfile_seed(a->f), part_begin(a, worker), digests, part_size(a, worker));
    a->shared->new_keys[worker] = live_add(a->f, digests, 1);
    live_touch(a->f);
}

static void leave(void *context, unsigned worker)
{
    struct adding *a = context;
    (void)worker;
    bloomfile_close(a->f);
}

static void add_batches(void *context, unsigned worker)
{
    struct adding *a = context;
    a->shared->new_keys[worker] +=
        live_add(a->f, a->digests + part_begin(a, worker), part_size(a, worker));
}

static void add_single(void *context, unsigned worker)
{
    struct adding *a = context;
    const bloomfile_digest *digest = a->digests + part_begin(a, worker);
    const bloomfile_digest *end = digest + part_size(a, worker);
    uint64_t new_keys = 0;
    for (; digest < end; digest++) {
        bool was_new;
        bench_check(bloomfile_add_digest(a->f, *digest, &was_new), "add a key");
        new_keys += was_new;
    }
    a->shared->new_keys[worker] += new_keys;
}

static void add_locked(void *context, unsigned worker)
{
    struct adding *a = context;
    const bloomfile_digest *digest = a->digests + part_begin(a, worker);
    const bloomfile_digest *end = digest + part_size(a, worker);
    uint64_t new_keys = 0;
    for (; digest < end; digest++) {
        bool was_new;
        bench_check(pthread_mutex_lock(&a->shared->mutex), "lock");
        bench_check(bloomfile_add_digest(a->f, *digest, &was_new), "add a key");
        bench_check(pthread_mutex_unlock(&a->shared->mutex), "unlock");
        new_keys += was_new;
    }
    a->shared->new_keys[worker] += new_keys;
}

static const struct way {
    const char *name;
    crew_task *work;
    unsigned flags;
    unsigned share; /* of the keys: one part in so many, for slow ways */
} ways[] = {
    { "batches of 1024", add_batches, 0, 1 },
    { "one by one", add_single, 0, 1 },
    { "one by one, under a mutex", add_locked, 0, 2 },
    { "one by one, BLOOMFILE_ADD_EXACT", add_single, BLOOMFILE_ADD_EXACT, 16 },
    { "batches, BLOOMFILE_ADD_EXACT", add_batches, BLOOMFILE_ADD_EXACT, 2 },
};
enum {
    WAYS = sizeof ways / sizeof ways[0]
};

static void make_mutex(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t shared;
    bench_check(pthread_mutexattr_init(&shared), "make a mutex");
    bench_check(pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED), "make a mutex");
    bench_check(pthread_mutex_init(mutex, &shared), "make a mutex");
    pthread_mutexattr_destroy(&shared);
}

/* Of one way: by threads, then by processes. */
struct rates {
    double value[2][SIZES][LIVE_TURNS], ratio[2][SIZES][LIVE_TURNS]; /* adds a second */
    double cost[2][SIZES][LIVE_TURNS]; /* nanoseconds of processor time an add */
};

static void measure(const struct live_options *o, const struct way *way, bool processes,
                    unsigned size, struct rates *r, unsigned turn)
{
    const unsigned workers = sizes[size];
    const size_t keys = (o->quick ? QUICK_KEYS : KEYS) / way->share;
    struct adding a = { live_create(o->memory, way->flags), workers, keys,
                        crew_memory(keys * sizeof *a.digests), crew_memory(sizeof *a.shared) };
    const struct crew crew = { workers, processes, prepare, way->work, leave, &a };
    uint64_t new_keys = 0;
    make_mutex(&a.shared->mutex);
    const struct crew_time time = crew_run(&crew);
    for (unsigned i = 0; i < workers; i++)
        new_keys += a.shared->new_keys[i];
    live_close(a.f, keys, new_keys);
    crew_memory_free(a.shared, sizeof *a.shared);
    crew_memory_free(a.digests, keys * sizeof *a.digests);
    const double value = (double)keys / time.seconds;
    r->value[processes][size][turn] = value;
    r->ratio[processes][size][turn] = value / r->value[0][0][turn];
    r->cost[processes][size][turn] = 1e9 * time.processor_seconds / (double)keys;
}

static void measure_turn(const struct live_options *o, const struct way *way, struct rates *r,
                         unsigned turn)
{
    for (int processes = 0; processes < 2; processes++)
        for (unsigned size = 0; size < SIZES; size++)
            measure(o, way, processes, size, r, turn);
}

static void print_row(const char *name, bool processes, struct rates *r, unsigned turns)
{
    printf("| %-31s | %-9s |", name, processes ? "processes" : "threads");
    for (int i = 0; i < SIZES; i++)
        printf(" %6.2f |", bench_median(r->value[processes][i], turns) / 1e6);
    for (int i = 0; i < SIZES; i++)
        printf(" %5.2f |", bench_median(r->ratio[processes][i], turns));
    for (int i = 0; i < SIZES; i++)
        printf(" %5.0f |", bench_median(r->cost[processes][i], turns));
    puts("");
}

void live_adds(const struct live_options *o)
{
    static struct rates rates[WAYS];
    const unsigned turns = o->quick ? 1 : LIVE_TURNS;
    for (unsigned turn = 0; turn < turns; turn++)
        for (unsigned i = 0; i < WAYS; i++)
            measure_turn(o, &ways[i], &rates[i], turn);

    puts("| 10^6 adds a second by           |           |      1 |      2 |      4 |"
         "  1:1t |  2:1t |  4:1t | 1, ns | 2, ns | 4, ns |\n"
         "|---------------------------------|-----------|-------:|-------:|-------:|"
         "------:|------:|------:|------:|------:|------:|");
    for (unsigned i = 0; i < WAYS; i++)
        for (int processes = 0; processes < 2; processes++)
            print_row(ways[i].name, processes, &rates[i], turns);
    puts("");
}
