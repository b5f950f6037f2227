/* SPDX-License-Identifier: MIT
 *
 * bench-memory - what the flags of open that say where a filter is to be in memory cost and gain
 *
 * The filter is in the page cache, and half of its bits are ones. Nothing is verified (but in one
 * row), since the time of the first lookups would be that of checksums.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bloomfile_inspect.h>

#include "harness/program.h"
#include "harness/turns.h"

#define FIRST 1000000u
#define WARM  (1u << 22) /* 256 MiB of blocks, more than caches hold */

static uint64_t megabytes, turns;

enum figure {
    OPEN_MS,
    FIRST_MS,
    BATCH_NS,
    SINGLE_NS,
    FIGURES
};

static const char disk[] = "filter.bloom";
static char shared[64]; /* the same as a file in /dev/shm, but gone with the program */

static const struct {
    const char *name, *path;
    unsigned flags;
} ways[] = {
    { "mapped", disk, BLOOMFILE_VERIFY_NONE },
    { "mapped, verified lazily", disk, 0 },
    { "BLOOMFILE_PREFAULT", disk, BLOOMFILE_VERIFY_NONE | BLOOMFILE_PREFAULT },
    { "BLOOMFILE_LOCK", disk, BLOOMFILE_VERIFY_NONE | BLOOMFILE_LOCK },
    { "BLOOMFILE_COPY", disk, BLOOMFILE_VERIFY_NONE | BLOOMFILE_COPY },
    { "shared memory, mapped", shared, BLOOMFILE_VERIFY_NONE },
    { "shared memory, _PREFAULT", shared, BLOOMFILE_VERIFY_NONE | BLOOMFILE_PREFAULT },
    { "shared memory, _COPY", shared, BLOOMFILE_VERIFY_NONE | BLOOMFILE_COPY },
};

#define WAYS (sizeof ways / sizeof ways[0])

static bloomfile_digest digests[WARM];

static void make_filters(void)
{
    struct stat status;
    bench_make_filter(disk, BLOOMFILE_BLOCKED, megabytes * 1000000 / 64 * 64, 6);
    const int from = bench_call(open(disk, O_RDONLY | O_CLOEXEC), "open the filter");
    const int to = bench_call(memfd_create("filter", MFD_CLOEXEC), "make a file in memory");
    bench_call(fstat(from, &status), "find the size of the filter");
    for (off_t at = 0; at < status.st_size;)
        bench_call(sendfile(to, from, &at, (size_t)(status.st_size - at)) > 0 ? 0 : -1,
                   "copy the filter to memory");
    close(from);
    snprintf(shared, sizeof shared, "/proc/self/fd/%d", to);
}

static size_t sink;

static double batch_seconds(const bloomfile *f, size_t count)
{
    const double start = bench_seconds();
    sink += bloomfile_contains_digests(f, digests, count, NULL);
    return bench_seconds() - start;
}

static double single_seconds(const bloomfile *f, size_t count)
{
    const double start = bench_seconds();
    for (size_t i = 0; i < count; i++)
        sink += bloomfile_contains_digest(f, digests[i]);
    return bench_seconds() - start;
}

static void measure(size_t way, double *figures)
{
    const double start = bench_seconds();
    bloomfile *f = bench_open(ways[way].path, ways[way].flags);
    figures[OPEN_MS] = (bench_seconds() - start) * 1e3;
    figures[FIRST_MS] = batch_seconds(f, FIRST) * 1e3;
    if ((ways[way].flags & BLOOMFILE_VERIFY_NONE) == 0)
        bench_check(bloomfile_verify(f, 1, NULL), "verify a filter");
    batch_seconds(f, WARM);
    figures[BATCH_NS] = batch_seconds(f, WARM) * 1e9 / WARM;
    figures[SINGLE_NS] = single_seconds(f, WARM) * 1e9 / WARM;
    bloomfile_close(f);
}

static void run(void)
{
    make_filters();
    bench_digests(0, 1ULL << 60, digests, WARM);
    printf("a filter of %" PRIu64 " MB; medians of %" PRIu64 " turns\n\n", megabytes, turns);
    struct turns t = turns_take(WAYS, FIGURES, turns, measure);
    table_start("|>open ms|>first 10^6|>batch ns|>ratio|>single ns|>ratio");
    for (size_t w = 0; w < WAYS; w++)
        table_row("%s|%.2f|%.1f|%.2f|%.3f|%.2f|%.3f", ways[w].name, turns_median(&t, w, OPEN_MS),
                  turns_median(&t, w, FIRST_MS), turns_median(&t, w, BATCH_NS),
                  turns_ratio(&t, w, 0, BATCH_NS), turns_median(&t, w, SINGLE_NS),
                  turns_ratio(&t, w, 0, SINGLE_NS));
    table_end();
    free(t.values);
}

static uint64_t room(void)
{
    return megabytes * 1001000;
}

const struct benchmark benchmark = {
    .what =
            "Opens filters in files and in shared memory in all ways. Takes 4 times the size of one of memory.\n"
            "Locking memory must be allowed (ulimit -l).\n",
    .options = {
        OPTION_NUMBER("mb", &megabytes, 1250, 0, 1, 100000, "MB of a filter"),
        OPTION_NUMBER("turns", &turns, 5, 0, 1, 101, "turns"),
    },
    .room = room,
    .run = run,
};
