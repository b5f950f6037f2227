/* SPDX-License-Identifier: MIT
 *
 * bench-memory - what the flags of open that say where a filter is to be in memory cost and gain
 *
 * The filter is in the page cache, and half of its bits are ones. Nothing is verified (but in one
 * row), since the time of the first lookups would be that of checksums. All ways take turns, so
 * that a busy machine slows all alike; the ratio is the median of the ratios of the turns.
 */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench.h"
#include "options.h"
#include "scratch.h"

#define MEGABYTES     1250
#define MAX_MEGABYTES 100000
#define TURNS         5
#define MAX_TURNS     101
#define FIRST         1000000u
#define WARM          (1u << 22) /* 256 MiB of blocks, more than caches hold */

static const char help[] =
    "usage: bench-memory [--mb N] [--turns N] [DIRECTORY]\n"
    "Open filters of N MB (1250; 1 to 100000) in DIRECTORY ($TMPDIR or /var/tmp) and in shared\n"
    "memory in all ways, N times (5), and print what opening and lookups take, in Markdown. Takes "
    "4\n"
    "times that size of memory. Locking memory must be allowed (ulimit -l).\n";

enum place {
    DISK,
    SHARED_MEMORY,
    PLACES
};

enum figure {
    OPEN_MS,
    FIRST_MS,
    BATCH_NS,
    SINGLE_NS,
    FIGURES
};

static const struct way {
    const char *name;
    enum place place;
    unsigned flags;
} ways[] = {
    { "mapped", DISK, BLOOMFILE_VERIFY_NONE },
    { "mapped, verified lazily", DISK, 0 },
    { "BLOOMFILE_PREFAULT", DISK, BLOOMFILE_VERIFY_NONE | BLOOMFILE_PREFAULT },
    { "BLOOMFILE_LOCK", DISK, BLOOMFILE_VERIFY_NONE | BLOOMFILE_LOCK },
    { "BLOOMFILE_COPY", DISK, BLOOMFILE_VERIFY_NONE | BLOOMFILE_COPY },
    { "shared memory, mapped", SHARED_MEMORY, BLOOMFILE_VERIFY_NONE },
    { "shared memory, _PREFAULT", SHARED_MEMORY, BLOOMFILE_VERIFY_NONE | BLOOMFILE_PREFAULT },
    { "shared memory, _COPY", SHARED_MEMORY, BLOOMFILE_VERIFY_NONE | BLOOMFILE_COPY },
};

#define WAYS (sizeof ways / sizeof ways[0])

static const char *paths[PLACES];
static bloomfile_digest digests[WARM];

/* ---- the filter */

/* The same as a file in /dev/shm, but gone with the program. */
static int shared_memory(void)
{
    static char path[64];
    const int fd = bench_call(memfd_create("filter", MFD_CLOEXEC), "make a file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    paths[SHARED_MEMORY] = path;
    return fd;
}

static void make_filters(uint64_t megabytes)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.bits = megabytes * 8000000 / 512 * 512;
    params.hashes = 6;
    params.capacity = params.bits / 10;
    const size_t size = (size_t)(params.bits / 8);
    uint8_t *body = bench_random_bytes(size);
    bench_check(bloomfile_assemble(paths[DISK], &params, body, 0, params.capacity, 0),
                "make a filter");
    bench_check(bloomfile_assemble_fd(shared_memory(), &params, body, 0, params.capacity, NULL),
                "make a filter in memory");
    free(body);
}

/* ---- measuring */

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

static void measure(const struct way *way, double figures[FIGURES])
{
    bloomfile *f;
    const double start = bench_seconds();
    bench_check(bloomfile_open(&f, paths[way->place], way->flags), "open a filter");
    figures[OPEN_MS] = (bench_seconds() - start) * 1e3;
    figures[FIRST_MS] = batch_seconds(f, FIRST) * 1e3;
    if ((way->flags & BLOOMFILE_VERIFY_NONE) == 0)
        bench_check(bloomfile_verify(f, 1, NULL), "verify a filter");
    batch_seconds(f, WARM);
    figures[BATCH_NS] = batch_seconds(f, WARM) * 1e9 / WARM;
    figures[SINGLE_NS] = single_seconds(f, WARM) * 1e9 / WARM;
    bloomfile_close(f);
}

static void print_row(const char *name, double values[FIGURES][MAX_TURNS],
                      double ratios[FIGURES][MAX_TURNS], unsigned turns)
{
    printf("| %-26s | %9.2f | %10.1f |", name, bench_median(values[OPEN_MS], turns),
           bench_median(values[FIRST_MS], turns));
    for (unsigned i = BATCH_NS; i < FIGURES; i++)
        printf(" %9.2f | %6.3f |", bench_median(values[i], turns), bench_median(ratios[i], turns));
    putchar('\n');
}

static void compare(unsigned turns)
{
    static double values[WAYS][FIGURES][MAX_TURNS], ratios[WAYS][FIGURES][MAX_TURNS];
    bench_digests(0, 1ULL << 60, digests, WARM);
    for (unsigned turn = 0; turn < turns; turn++) {
        for (unsigned w = 0; w < WAYS; w++) {
            double figures[FIGURES];
            measure(&ways[w], figures);
            for (unsigned i = 0; i < FIGURES; i++) {
                values[w][i][turn] = figures[i];
                ratios[w][i][turn] = figures[i] / values[0][i][turn];
            }
        }
    }
    puts("|                            |   open ms | first 10^6 |  batch ns |  ratio | single ns | "
         " ratio |\n"
         "|----------------------------|----------:|-----------:|----------:|-------:|----------:|"
         "-------:|");
    for (unsigned w = 0; w < WAYS; w++)
        print_row(ways[w].name, values[w], ratios[w], turns);
}

int main(int argc, char **argv)
{
    uint64_t megabytes, turns;
    const struct bench_option options[] = {
        { "mb", &megabytes, MEGABYTES, 0, 1, MAX_MEGABYTES },
        { "turns", &turns, TURNS, 0, 1, MAX_TURNS },
    };
    const char *where =
        bench_options(argc, argv, help, options, sizeof options / sizeof options[0]);
    scratch_make(where, "bench-memory", megabytes * 1001000);
    scratch_enter();
    paths[DISK] = "filter.bloom";
    make_filters(megabytes);
    printf("a filter of %" PRIu64 " MB; medians of %" PRIu64 " turns\n\n", megabytes, turns);
    compare((unsigned)turns);
    bench_flush();
    return 0;
}
