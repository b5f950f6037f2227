/* SPDX-License-Identifier: MIT
 *
 * Adds by one to four threads or processes. A filter for each measurement, so that all begin with
 * an empty one; its workers have it in their page tables and are writers before the clock starts.
 */
#include <bloomfile_live.h>
#include <pthread.h>
#include <stdlib.h>

#include "harness/bench.h"
#include "harness/crew.h"
#include "harness/table.h"
#include "harness/turns.h"
#include "live.h"

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

static void add_one_by_one(struct adding *a, unsigned worker, bool locked)
{
    const bloomfile_digest *digest = a->digests + part_begin(a, worker);
    const bloomfile_digest *end = digest + part_size(a, worker);
    uint64_t new_keys = 0;
    for (; digest < end; digest++) {
        bool was_new;
        if (locked)
            bench_check(pthread_mutex_lock(&a->shared->mutex), "lock");
        bench_check(bloomfile_add_digest(a->f, *digest, &was_new), "add a key");
        if (locked)
            bench_check(pthread_mutex_unlock(&a->shared->mutex), "unlock");
        new_keys += was_new;
    }
    a->shared->new_keys[worker] += new_keys;
}

static void add_single(void *context, unsigned worker)
{
    add_one_by_one(context, worker, false);
}

static void add_locked(void *context, unsigned worker)
{
    add_one_by_one(context, worker, true);
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

enum figure {
    RATE, /* adds a second */
    COST, /* nanoseconds of processor time an add */
    FIGURES
};

static bool is_quick;
static const char *memory;

/* The rows are all sizes by threads, and then by processes, of one way after the other. */
static void measure(size_t row, double *figures)
{
    const struct way *way = &ways[row / (2 * SIZES)];
    const unsigned workers = sizes[row % SIZES];
    const size_t keys = (is_quick ? QUICK_KEYS : KEYS) / way->share;
    struct adding a = { live_create(memory, way->flags), workers, keys,
                        crew_memory(keys * sizeof *a.digests), crew_memory(sizeof *a.shared) };
    const struct crew crew = { workers, row / SIZES % 2 == 1, prepare, way->work, leave, &a };
    uint64_t new_keys = 0;
    make_mutex(&a.shared->mutex);
    const struct crew_time time = crew_run(&crew);
    for (unsigned i = 0; i < workers; i++)
        new_keys += a.shared->new_keys[i];
    live_close(a.f, keys, new_keys);
    crew_memory_free(a.shared, sizeof *a.shared);
    crew_memory_free(a.digests, keys * sizeof *a.digests);
    figures[RATE] = (double)keys / time.seconds;
    figures[COST] = 1e9 * time.processor_seconds / (double)keys;
}

void live_adds(const struct live_options *o)
{
    is_quick = o->quick;
    memory = o->memory;
    struct turns t =
        turns_take((size_t)WAYS * 2 * SIZES, FIGURES, is_quick ? 1 : LIVE_TURNS, measure);
    table_start("10^6 adds a second by||>1|>2|>4|>1:1t|>2:1t|>4:1t|>1, ns|>2, ns|>4, ns");
    for (size_t line = 0; line < 2 * WAYS; line++) {
        const size_t first = line * SIZES, alone = line / 2 * 2 * SIZES;
        table_cells("%s|%s", ways[line / 2].name, line % 2 == 1 ? "processes" : "threads");
        for (size_t i = first; i < first + SIZES; i++)
            table_cells("|%.2f", turns_median(&t, i, RATE) / 1e6);
        for (size_t i = first; i < first + SIZES; i++)
            table_cells("|%.2f", turns_ratio(&t, i, alone, RATE));
        for (size_t i = first; i < first + SIZES; i++)
            table_cells("|%.0f", turns_median(&t, i, COST));
        table_row("%s", "");
    }
    table_end();
    free(t.values);
}
