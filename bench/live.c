/* SPDX-License-Identifier: MIT
 *
 * bench-live - what adding to a live filter costs, in memory and on a disk
 */
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "harness/crew.h"
#include "harness/program.h"
#include "harness/scratch.h"
#include "harness/turns.h"

#define LIVE_BITS     (1ULL << 30)
#define LIVE_ROOM     (LIVE_BITS / 8 + (1 << 20))
#define LIVE_CAPACITY 100000000
#define LIVE_BATCH    1024
#define LIVE_TURNS    5

static uint64_t table, quick;

/* ---- the filter: one file at a time, which is checked when it is closed */

static char file[4096 + 16];

static bloomfile_filter *live_create(const char *folder, unsigned flags)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_filter *f;
    snprintf(file, sizeof file, "%s/live.bloom", folder);
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

/* ---- adds by one to four threads or processes: a filter for each measurement, so that all begin
 * with an empty one; its workers have it in their page tables and are writers before the clock
 * starts */

#define KEYS       4000000
#define QUICK_KEYS 1000000
#define SIZES      3

static const unsigned sizes[SIZES] = { 1, 2, 4 };

struct adding {
    bloomfile_filter *f;
    unsigned workers;
    size_t keys;               /* of all workers */
    bloomfile_digest *digests; /* shared */
    uint64_t *new_keys;        /* of each worker; shared */
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
    unsigned share; /* of the keys: one part in so many, for slow ways */
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
    RATE, /* adds a second */
    COST, /* nanoseconds of processor time an add */
    FIGURES
};

/* The rows are all sizes by threads, and then by processes, of one way after the other. */
static void measure(size_t row, double *figures)
{
    const struct way *way = &ways[row / (2 * SIZES)];
    const unsigned workers = sizes[row % SIZES];
    const size_t keys = (quick ? QUICK_KEYS : KEYS) / way->share;
    struct adding a = { live_create(scratch_folder(), way->flags), workers, keys,
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

static void print_adds(void)
{
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

/* ---- what the file system costs: keys come at a steady rate and dirty pages all over the file,
 * which the kernel writes back in its own time, or bloomfile_sync() every few seconds, called by a
 * thread of its own; one run a row, long enough for many write-backs */

#define SECONDS       40
#define SYNC_EVERY    5
#define QUICK_SECONDS 3
#define QUICK_SYNC    1
#define RATE          2000000 /* keys a second; in 40 s they stay below LIVE_CAPACITY */
#define SYNCS_MAX     (SECONDS / SYNC_EVERY + 1)
#define SECTOR        512

struct row {
    const char *name, *directory;
    bool sync;
};

struct run {
    bloomfile_filter *f;
    double seconds, sync_every;
    double *batches; /* seconds that each took */
    size_t batches_done;
    uint64_t new_keys;
    atomic_bool over;
    double syncs[SYNCS_MAX]; /* seconds that each took */
    size_t syncs_done;
    uint64_t dirtied, written; /* bytes: by this process, by the disk; UINT64_MAX: not known */
};

static void sleep_until(double moment)
{
    const double left = moment - bench_seconds();
    if (left <= 0)
        return;
    const time_t whole = (time_t)left;
    nanosleep(&(struct timespec){ whole, (long)((left - (double)whole) * 1e9) }, NULL);
}

/* The number in this column of the line that begins with `name`, in a file of /proc or /sys;
 * UINT64_MAX if there is none. */
static uint64_t read_number(const char *path, const char *name, unsigned column)
{
    uint64_t value = UINT64_MAX;
    char line[256];
    FILE *numbers = fopen(path, "re");
    if (numbers == NULL)
        return value;
    while (fgets(line, sizeof line, numbers) != NULL) {
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        char *rest = line + strlen(name);
        for (unsigned i = 0; i < column; i++)
            value = strtoull(rest, &rest, 10);
    }
    fclose(numbers);
    return value;
}

/* Pages count when they become dirty, however often they were written to. */
static uint64_t bytes_dirtied(void)
{
    return read_number("/proc/self/io", "write_bytes:", 1);
}

/* By everybody, to the disk that the file is on. */
static uint64_t bytes_written(void)
{
    struct stat status;
    char path[64];
    bench_call(stat(file, &status), "find the disk");
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(status.st_dev),
             minor(status.st_dev));
    const uint64_t sectors = read_number(path, "", 7);
    return sectors == UINT64_MAX ? sectors : sectors * SECTOR;
}

static void *sync_now_and_then(void *argument)
{
    struct run *r = argument;
    const double start = bench_seconds();
    while (!atomic_load(&r->over) && r->syncs_done < SYNCS_MAX) {
        sleep_until(start + (double)(r->syncs_done + 1) * r->sync_every);
        const double begin = bench_seconds();
        bench_check(bloomfile_sync(r->f, NULL), "sync the filter");
        r->syncs[r->syncs_done++] = bench_seconds() - begin;
    }
    return NULL;
}

static void add_steadily(struct run *r)
{
    bloomfile_digest digests[LIVE_BATCH];
    const double start = bench_seconds();
    while (bench_seconds() < start + r->seconds) {
        const uint64_t first = r->batches_done * LIVE_BATCH;
        bench_digests(bloomfile_seed(r->f), first, digests, LIVE_BATCH);
        sleep_until(start + (double)first / RATE);
        const double begin = bench_seconds();
        r->new_keys += live_add(r->f, digests, LIVE_BATCH);
        r->batches[r->batches_done++] = bench_seconds() - begin;
    }
}

static void add_and_sync(struct run *r, bool sync)
{
    pthread_t syncer;
    const uint64_t dirtied = bytes_dirtied(), written = bytes_written();
    if (sync)
        bench_check(pthread_create(&syncer, NULL, sync_now_and_then, r), "start a thread");
    add_steadily(r);
    atomic_store(&r->over, true);
    if (sync)
        bench_check(pthread_join(syncer, NULL), "wait for a thread");
    r->dirtied = dirtied == UINT64_MAX ? dirtied : bytes_dirtied() - dirtied;
    r->written = written == UINT64_MAX ? written : bytes_written() - written;
}

static const char *mebibytes(uint64_t bytes)
{
    return table_number(bytes == UINT64_MAX ? NAN : (double)bytes / 0x1p20, 0);
}

static void print_run(const struct row *row, struct run *r)
{
    double busy = 0;
    for (size_t i = 0; i < r->batches_done; i++)
        busy += r->batches[i];
    const double keys = (double)r->batches_done * LIVE_BATCH;
    const double median = bench_median(r->batches, r->batches_done);
    const double longest = r->batches[r->batches_done - 1]; /* the median has sorted them */
    table_cells("%s|%.2f|%.2f|%.1f|%.2f|%s|%s", row->name, keys / r->seconds / 1e6,
                keys / busy / 1e6, 1e6 * median, 1e3 * longest, mebibytes(r->dirtied),
                mebibytes(r->written));
    const double sync = r->syncs_done > 0 ? bench_median(r->syncs, r->syncs_done) : NAN;
    table_row("|%s|%s", table_number(sync, 2),
              table_number(r->syncs_done > 0 ? r->syncs[r->syncs_done - 1] : NAN, 2));
}

static void print_disk(void)
{
    const struct row rows[] = {
        { "without a disk", scratch_folder(), false },
        { "disk, written by the kernel", ".", false },
        { "disk, bloomfile_sync() besides", ".", true },
    };
    const double seconds = quick ? QUICK_SECONDS : SECONDS;
    double *batches =
        bench_memory(malloc((size_t)(seconds * RATE / LIVE_BATCH + 2) * sizeof *batches));
    table_start("one thread, batches of 1024|>10^6 adds/s|>without idling|>us a batch|>worst, ms|"
                ">dirtied MiB|>written MiB|>sync, s|>worst, s");
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct run r = { .f = live_create(rows[i].directory, 0),
                         .seconds = seconds,
                         .sync_every = quick ? QUICK_SYNC : SYNC_EVERY,
                         .batches = batches };
        add_and_sync(&r, rows[i].sync);
        print_run(&rows[i], &r);
        live_close(r.f, r.batches_done * LIVE_BATCH, r.new_keys);
    }
    table_end();
    free(batches);
}

/* ---- both */

static const char *const tables[] = { "adds", "disk", NULL };

static void run(void)
{
    scratch_make("/dev/shm", "bench-live", LIVE_ROOM);
    if (table != 2)
        print_adds();
    if (table != 1)
        print_disk();
}

static uint64_t room(void)
{
    return LIVE_ROOM;
}

const struct benchmark benchmark = {
    .what =
            "Adds to a live filter of 128 MiB.\n"
            "\n"
            "  adds  by 1, 2 and 4 threads and processes\n"
            "  disk  adds to a file in DIRECTORY, with and without sync\n"
            "\n"
            "The filters of the first are in /dev/shm, which no disk slows down. A key that was lost is trouble.\n",
    .options = {
        OPTION_FLAG("quick", &quick, "seconds instead of minutes"),
        OPTION_WORD("table", &table, tables, "this alone"),
    },
    .room = room,
    .run = run,
};
