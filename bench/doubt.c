/* SPDX-License-Identifier: MIT
 *
 * bench-doubt - what a batch of lookups costs while pages of the body are in doubt
 *
 * The file is in the page cache, and mapped before the clock starts. A figure is that of the
 * fastest turn, since a busy machine only adds.
 */
#include <bloomfile_inspect.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/program.h"
#include "harness/turns.h"

#define BATCH  1000
#define HEADER 4096

static const char path[] = "filter.bloom", damaged_path[] = "damaged.bloom";
static uint64_t mebibytes, keys, turns;
static bloomfile_digest *digests;

static void make_filters(uint32_t layout)
{
    const uint8_t other = 0xA5;
    bench_make_filter(path, layout, mebibytes << 20, 7);
    bench_make_filter(damaged_path, layout, mebibytes << 20, 7);
    const int fd = bench_call(open(damaged_path, O_WRONLY | O_CLOEXEC), "open the filter");
    bench_call((int)pwrite(fd, &other, 1, HEADER + 12345), "damage the filter");
    bench_call(close(fd), "damage the filter");
}

static size_t sink;

/* Nanoseconds a key. */
static double look_up(const bloomfile *f)
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

static void measure(size_t row, double *times)
{
    (void)row;
    bloomfile *f = bench_open(path, BLOOMFILE_PREFAULT | BLOOMFILE_VERIFY_NONE);
    times[TRUSTED] = look_up(f);
    bloomfile_close(f);
    f = bench_open(path, BLOOMFILE_PREFAULT | BLOOMFILE_VERIFY_FULL);
    times[VERIFIED] = look_up(f);
    bloomfile_close(f);
    f = bench_open(path, BLOOMFILE_PREFAULT);
    times[NEW] = look_up(f);
    times[AGAIN] = look_up(f);
    bloomfile_close(f);
    f = bench_open(damaged_path, BLOOMFILE_PREFAULT);
    if (bloomfile_verify(f, 1, NULL) != BLOOMFILE_EPAGE)
        bench_fail(0, "find the damaged page");
    times[DAMAGED] = look_up(f);
    bloomfile_close(f);
}

static void run(void)
{
    digests = bench_memory(malloc(keys * sizeof *digests));
    bench_digests(0, 0, digests, keys);
    printf("%" PRIu64 " MiB, %" PRIu64 " keys, ns a key\n\n", mebibytes, keys);
    table_start("layout|>trusted|>verified|>new|>again|>bad page");
    for (uint32_t layout = BLOOMFILE_BLOCKED; layout <= BLOOMFILE_COUNTING; layout++) {
        make_filters(layout);
        struct turns t = turns_take(1, COLUMNS, turns, measure);
        table_cells("%s", bench_layout_name(layout));
        for (size_t c = 0; c < COLUMNS; c++)
            table_cells("|%.1f", turns_least(&t, 0, c));
        table_row("%s", "");
        free(t.values);
    }
    table_end();
    free(digests);
    if (sink == 0)
        bench_fail(0, "trust lookups that find nothing");
}

static uint64_t room(void)
{
    return 3 * (mebibytes + 1) << 20;
}

const struct benchmark benchmark = {
    .what =
            "Looks up keys in filters of each layout, in batches of 1000: with a handle that never checks a\n"
            "page, one whose pages are all verified, a new one, for its first keys and for these once more,\n"
            "and one of a filter with a bad page.\n",
    .options = {
        OPTION_NUMBER("mib", &mebibytes, 128, 4, 1, 8192, "MiB of a filter"),
        OPTION_NUMBER("keys", &keys, 200000, 10000, 1, 1000000000, "keys"),
        OPTION_NUMBER("turns", &turns, 20, 1, 1, 1000, "turns"),
    },
    .room = room,
    .run = run,
};
