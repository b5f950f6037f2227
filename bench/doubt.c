/* SPDX-License-Identifier: MIT
 *
 * bench-doubt - what a batch of lookups costs while pages of the body are in doubt
 *
 * The file is in the page cache, and mapped before the clock starts. All handles take turns; a
 * figure is that of the fastest turn, since a busy machine only adds.
 */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "options.h"
#include "scratch.h"

#define SIZE      128 /* MiB */
#define MAX_SIZE  8192
#define KEYS      200000
#define BATCH     1000
#define TURNS     20
#define MAX_TURNS 1000
#define HEADER    4096

static const char help[] =
    "usage: bench-doubt [--mib N] [--keys N] [--turns N] [--quick] [DIRECTORY]\n"
    "Make a filter of N MiB (128; 1 to 8192) of each layout in DIRECTORY ($TMPDIR or /var/tmp), "
    "look up\n"
    "N random keys (200000) in batches of 1000, N times (20), and print nanoseconds a key in "
    "Markdown:\n"
    "with a handle that never checks a page, one whose pages are all verified, a new one, for its\n"
    "first keys and for these once more, and one of a filter with a bad page.\n";

static const char path[] = "filter.bloom", damaged_path[] = "damaged.bloom";
static uint64_t mebibytes, keys, turns;

/* ---- the filters: half of the bits, or counters, are set */

static uint8_t *random_body(uint32_t layout, size_t size)
{
    uint8_t *body = bench_random_bytes(size);
    for (size_t i = 0; i < size && layout == BLOOMFILE_COUNTING; i++)
        body[i] &= 0x11;
    return body;
}

static void damage(const char *file)
{
    const uint8_t other = 0xA5;
    const int fd = bench_call(open(file, O_WRONLY | O_CLOEXEC), "open the filter");
    bench_call((int)pwrite(fd, &other, 1, HEADER + 12345), "damage the filter");
    bench_call(close(fd), "damage the filter");
}

static void make_filters(uint32_t layout)
{
    const size_t size = (size_t)mebibytes << 20;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.bits = (uint64_t)size * (layout == BLOOMFILE_COUNTING ? 2 : 8);
    params.hashes = 7;
    params.capacity = params.bits / 10;
    uint8_t *body = random_body(layout, size);
    bench_check(bloomfile_assemble(path, &params, body, 0, params.capacity, BLOOMFILE_REPLACE),
                "make a filter");
    bench_check(
        bloomfile_assemble(damaged_path, &params, body, 0, params.capacity, BLOOMFILE_REPLACE),
        "make a filter");
    free(body);
    damage(damaged_path);
}

/* ---- what is timed */

static size_t sink;

/* Nanoseconds a key. */
static double look_up(const bloomfile *f, const bloomfile_digest *digests)
{
    const double start = bench_seconds();
    for (uint64_t i = 0; i < keys; i += BATCH)
        sink +=
            bloomfile_contains_digests(f, digests + i, keys - i < BATCH ? keys - i : BATCH, NULL);
    return (bench_seconds() - start) / (double)keys * 1e9;
}

enum column {
    TRUSTED,
    VERIFIED,
    NEW,
    AGAIN,
    DAMAGED,
    COLUMNS
};

static bloomfile *open_filter(const char *file, unsigned flags)
{
    bloomfile *f;
    bench_check(bloomfile_open(&f, file, BLOOMFILE_PREFAULT | flags), "open the filter");
    return f;
}

static void take_turn(const bloomfile_digest *digests, double *times)
{
    bloomfile *f = open_filter(path, BLOOMFILE_VERIFY_NONE);
    times[TRUSTED] = look_up(f, digests);
    bloomfile_close(f);
    f = open_filter(path, BLOOMFILE_VERIFY_FULL);
    times[VERIFIED] = look_up(f, digests);
    bloomfile_close(f);
    f = open_filter(path, 0);
    times[NEW] = look_up(f, digests);
    times[AGAIN] = look_up(f, digests);
    bloomfile_close(f);
    f = open_filter(damaged_path, 0);
    if (bloomfile_verify(f, 1, NULL) != BLOOMFILE_EPAGE)
        bench_fail(0, "find the damaged page");
    times[DAMAGED] = look_up(f, digests);
    bloomfile_close(f);
}

static void measure(uint32_t layout, const bloomfile_digest *digests)
{
    double least[COLUMNS];
    make_filters(layout);
    for (uint64_t turn = 0; turn < turns; turn++) {
        double now[COLUMNS];
        take_turn(digests, now);
        for (unsigned c = 0; c < COLUMNS; c++)
            least[c] = turn == 0 || now[c] < least[c] ? now[c] : least[c];
    }
    printf("| %-8s |", bench_layout_name(layout));
    for (unsigned c = 0; c < COLUMNS; c++)
        printf(" %8.1f |", least[c]);
    printf("\n");
}

int main(int argc, char **argv)
{
    const struct bench_option options[] = {
        { "mib", &mebibytes, SIZE, 4, 1, MAX_SIZE },
        { "keys", &keys, KEYS, 10000, 1, 1000000000 },
        { "turns", &turns, TURNS, 1, 1, MAX_TURNS },
    };
    const char *where = bench_options(argc, argv, help, options, 3);
    scratch_make(where, "bench-doubt", 3 * (mebibytes + 1) << 20);
    scratch_enter();
    bloomfile_digest *digests = bench_memory(malloc(keys * sizeof *digests));
    bench_digests(0, 0, digests, keys);
    printf("%" PRIu64 " MiB, %" PRIu64 " keys, ns a key\n\n", mebibytes, keys);
    printf("| layout   |  trusted | verified |      new |    again | bad page |\n"
           "|:---------|---------:|---------:|---------:|---------:|---------:|\n");
    for (uint32_t layout = BLOOMFILE_BLOCKED; layout <= BLOOMFILE_COUNTING; layout++)
        measure(layout, digests);
    free(digests);
    bench_flush();
    return sink == 0 ? BENCH_TROUBLE : 0;
}
