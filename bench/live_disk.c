/* SPDX-License-Identifier: MIT
 *
 * What the file system costs. Keys come at a steady rate and dirty pages all over the file, which
 * the kernel writes back in its own time, or bloomfile_sync() every few seconds, called by a thread
 * of its own. One run a row: each is long enough for many write-backs.
 */
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

#include "harness/bench.h"
#include "harness/table.h"
#include "live.h"

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
    bloomfile *f;
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
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return value;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        char *rest = line + strlen(name);
        for (unsigned i = 0; i < column; i++)
            value = strtoull(rest, &rest, 10);
    }
    fclose(file);
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
    bench_call(stat(live_path(), &status), "find the disk");
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
        bench_check(bloomfile_sync(r->f), "sync the filter");
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

static void run(struct run *r, bool sync)
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

static void print(const struct row *row, struct run *r)
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

void live_disk(const struct live_options *o)
{
    const struct row rows[] = {
        { "without a disk", o->memory, false },
        { "disk, written by the kernel", o->disk, false },
        { "disk, bloomfile_sync() besides", o->disk, true },
    };
    const double seconds = o->quick ? QUICK_SECONDS : SECONDS;
    double *batches =
        bench_memory(malloc((size_t)(seconds * RATE / LIVE_BATCH + 2) * sizeof *batches));
    table_start("one thread, batches of 1024|>10^6 adds/s|>without idling|>us a batch|>worst, ms|"
                ">dirtied MiB|>written MiB|>sync, s|>worst, s");
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct run r = { .f = live_create(rows[i].directory, 0),
                         .seconds = seconds,
                         .sync_every = o->quick ? QUICK_SYNC : SYNC_EVERY,
                         .batches = batches };
        run(&r, rows[i].sync);
        print(&rows[i], &r);
        live_close(r.f, r.batches_done * LIVE_BATCH, r.new_keys);
    }
    table_end();
    free(batches);
}
