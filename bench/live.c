/* SPDX-License-Identifier: MIT
 *
 * bench-live - the cost of adds to a live filter
 */
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/crew.h"
#include "harness/program.h"

#define LIVE_BITS     (1ULL << 30)
#define LIVE_ROOM     (LIVE_BITS / 8 + (1 << 20))
#define LIVE_CAPACITY 100000000
#define LIVE_BATCH    1024
#define LIVE_TURNS    5

static uint64_t quick;

/* ---- the filter: one file at a time, which is checked after it is closed */

static const char file[] = "live.bloom";

static bloomfile_filter *live_create(unsigned flags)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_filter *f;
    params.bits = LIVE_BITS;
    params.capacity = LIVE_CAPACITY;
    bench_check(bloomfile_create(&f, file, &params, flags), "create a live filter");
    return f;
}

static void check(uint64_t keys, uint64_t new_keys)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_digest digests[LIVE_BATCH];
    bloomfile_filter *f = bench_open(file, 0);
    for (uint64_t done = 0, n; done < keys; done += n) {
        n = keys - done < LIVE_BATCH ? keys - done : LIVE_BATCH;
        bench_digests(bloomfile_seed(f), done, digests, n);
        if (bloomfile_contains_digests(f, digests, n, NULL) != n)
            bench_fail(0, "trust the filter: it has lost keys");
    }
    bloomfile_get_info(f, &info);
    if (info.keys != new_keys || info.keys_estimated != 0)
        bench_fail(0, "trust the filter: its number of keys is not that of the new ones");
    bloomfile_close(f);
}

static void live_close(bloomfile_filter *f, uint64_t keys, uint64_t new_keys)
{
    bloomfile_close(f);
    check(keys, new_keys);
    bench_call(unlink(file), "remove the filter");
}

static void live_touch(const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    const uint64_t step = UINT64_MAX / info.pages; /* a digest's top bits choose its place */
    for (uint64_t page = 0; page < info.pages; page++)
        bloomfile_contains_digest(f, step * page + step / 2);
}

static uint64_t live_add(bloomfile_filter *f, const bloomfile_digest *digests, size_t count)
{
    uint64_t total = 0;
    for (size_t done = 0; done < count; done += LIVE_BATCH) {
        size_t new_keys, n = count - done < LIVE_BATCH ? count - done : LIVE_BATCH;
        bench_check(bloomfile_add_digests(f, digests + done, n, NULL, &new_keys, NULL), "add keys");
        total += new_keys;
    }
    return total;
}

/* ---- adds by one to four threads or processes
 *
 * Each measurement has a new, empty filter. Its workers join the writers and map every page before
 * the clock starts. */

#define KEYS       4000000
#define QUICK_KEYS 1000000
#define SIZES      3

static const unsigned sizes[SIZES] = { 1, 2, 4 };

struct adding {
    bloomfile_filter *f;
    unsigned workers;
    size_t keys;               /* keys of all workers together */
    bloomfile_digest *digests; /* shared by all processes */
    uint64_t *new_keys;        /* a number for each worker, shared by all processes */
};

/* The start of a worker's part of the digests. */
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
    a->new_keys[worker] = live_add(a->f, digests, 1);
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
    a->new_keys[worker] += live_add(a->f, a->digests + part_begin(a, worker), part_size(a, worker));
}

static void add_single(void *context, unsigned worker)
{
    struct adding *a = context;
    const bloomfile_digest *digest = a->digests + part_begin(a, worker);
    const bloomfile_digest *end = digest + part_size(a, worker);
    for (; digest < end; digest++) {
        bool was_new;
        bench_check(bloomfile_add_digest(a->f, *digest, &was_new), "add a key");
        a->new_keys[worker] += was_new;
    }
}

static const struct way {
    const char *name;
    crew_task *work;
    unsigned flags;
    unsigned share; /* slow ways add only one key in `share` */
} ways[] = {
    { "batches of 1024", add_batches, 0, 1 },
    { "one by one", add_single, 0, 1 },
    { "one by one, BLOOMFILE_OPEN_ADD_EXACT", add_single, BLOOMFILE_OPEN_ADD_EXACT, 16 },
    { "batches, BLOOMFILE_OPEN_ADD_EXACT", add_batches, BLOOMFILE_OPEN_ADD_EXACT, 2 },
};
enum {
    WAYS = sizeof ways / sizeof ways[0]
};

enum figure {
    RATE, /* adds per second */
    COST, /* nanoseconds of processor time per add */
    FIGURES
};

/* Rows are ordered by way, then threads before processes, then the number of workers. */
static void measure(size_t row, double *figures)
{
    const struct way *way = &ways[row / (2 * SIZES)];
    const unsigned workers = sizes[row % SIZES];
    const size_t keys = (quick ? QUICK_KEYS : KEYS) / way->share;
    struct adding a = { live_create(way->flags), workers, keys,
                        crew_memory(keys * sizeof *a.digests),
                        crew_memory(CREW_MAX * sizeof *a.new_keys) };
    const struct crew crew = { workers, row / SIZES % 2 == 1, prepare, way->work, leave, &a };
    uint64_t new_keys = 0;
    const struct crew_time time = crew_run(&crew);
    for (unsigned i = 0; i < workers; i++)
        new_keys += a.new_keys[i];
    live_close(a.f, keys, new_keys);
    crew_memory_free(a.new_keys, CREW_MAX * sizeof *a.new_keys);
    crew_memory_free(a.digests, keys * sizeof *a.digests);
    figures[RATE] = (double)keys / time.seconds;
    figures[COST] = 1e9 * time.processor_seconds / (double)keys;
}

/* ---- adds by one writer to a filter of 10 bits a key: all keys once, then all keys again */

#define LONE_KEYS  1000000
#define LONE_BATCH 4096

static const struct lone {
    const char *name;
    bool in_memory;
    unsigned flags;
} lone[] = {
    { "file", false, 0 },
    { "file, BLOOMFILE_OPEN_ONE_THREAD", false, BLOOMFILE_OPEN_ONE_THREAD },
    { "file, BLOOMFILE_OPEN_SOLE_ADDER", false, BLOOMFILE_OPEN_SOLE_ADDER },
    { "memory", true, 0 },
    { "memory, BLOOMFILE_OPEN_SOLE_ADDER", true, BLOOMFILE_OPEN_SOLE_ADDER },
};
enum {
    LONE = sizeof lone / sizeof lone[0],
    LONE_FIGURES = 4 /* one by one: new, again; in batches: new, again */
};

static bloomfile_filter *lone_create(const struct lone *way)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_filter *f;
    params.bits = LONE_KEYS * 10 / 512 * 512;
    params.hashes = 6;
    params.capacity = LONE_KEYS;
    const int error = way->in_memory ? bloomfile_create_memory(&f, &params, way->flags)
                                     : bloomfile_create(&f, file, &params, way->flags);
    bench_check(error, "create a live filter");
    return f;
}

static double lone_add(bloomfile_filter *f, const bloomfile_digest *digests, bool batches,
                       uint64_t *new_keys)
{
    static bool was_new[LONE_BATCH];
    const double start = bench_processor_seconds();
    *new_keys = 0;
    for (size_t i = 0, n; i < LONE_KEYS; i += n) {
        size_t some = 0;
        n = !batches ? 1 : LONE_KEYS - i < LONE_BATCH ? LONE_KEYS - i : LONE_BATCH;
        const int error = batches ? bloomfile_add_digests(f, digests + i, n, was_new, &some, NULL)
                                  : bloomfile_add_digest(f, digests[i], was_new);
        bench_check(error, "add keys");
        *new_keys += batches ? some : was_new[0];
    }
    return 1e9 * (bench_processor_seconds() - start) / LONE_KEYS;
}

static void measure_lone(size_t row, double *figures)
{
    bloomfile_digest *digests = malloc(LONE_KEYS * sizeof *digests);
    if (digests == NULL)
        bench_fail(0, "get memory");
    for (unsigned batches = 0; batches < 2; batches++) {
        bloomfile_filter *f = lone_create(&lone[row]);
        uint64_t new_keys, again;
        bench_digests(bloomfile_seed(f), 0, digests, LONE_KEYS);
        live_touch(f);
        figures[2 * batches] = lone_add(f, digests, batches, &new_keys);
        figures[2 * batches + 1] = lone_add(f, digests, batches, &again);
        if (again != 0)
            bench_fail(0, "trust the filter: it has lost keys");
        if (lone[row].in_memory)
            bloomfile_close(f);
        else
            live_close(f, LONE_KEYS, new_keys);
    }
    free(digests);
}

static void run_lone(void)
{
    struct turns t = turns_take(LONE, LONE_FIGURES, quick ? 3 : 11, measure_lone);
    table_start("nanoseconds an add by one writer|>one by one: new|>again|>batches: new|>again");
    for (size_t row = 0; row < LONE; row++) {
        table_cells("%s", lone[row].name);
        for (size_t i = 0; i < LONE_FIGURES; i++)
            table_cells("|%.1f", turns_median(&t, row, i));
        table_row("%s", "");
    }
    table_end();
    free(t.values);
}

static void run(void)
{
    run_lone();
    struct turns t = turns_take((size_t)WAYS * 2 * SIZES, FIGURES, quick ? 1 : LIVE_TURNS, measure);
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

static uint64_t room(void)
{
    return LIVE_ROOM;
}

const struct benchmark benchmark = {
    .what = "Adds to a live filter of 1.2 MiB by one writer, and of 128 MiB by 1, 2 and 4 threads and\n"
            "processes. A lost key is an error.\n",
    .options = {
        OPTION_FLAG("quick", &quick, "seconds instead of minutes"),
    },
    .room = room,
    .where = "/dev/shm",
    .run = run,
};
