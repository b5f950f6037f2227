/* SPDX-License-Identifier: MIT
 * bench-file - verifying, opening, looking up and building files of filters, and splitting input.
 */
#include "file.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "harness/program.h"
#include "harness/turns.h"

#define PIECE     ((size_t)1 << 20)
#define LEAST_ONE 0.9 /* of zlib's crc32 */
#define LEAST_TWO 1.8 /* of one thread */
#define BATCH     1000
#define HEADER    4096

static const char path[] = "filter.bloom", damaged_path[] = "damaged.bloom";
static size_t sink;

/* ---- verify: next to other ways to read the same bytes, each through a mapping of its own */

static void read_words(const uint8_t *bytes, size_t size)
{
    uint64_t word;
    for (size_t at = 0; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        sink += word;
    }
}

static void sum_with_zlib(const uint8_t *bytes, size_t size)
{
    sink += crc32_z(0, bytes, size);
}

static void sum_with_libdeflate(const uint8_t *bytes, size_t size)
{
    sink += libdeflate_crc32(0, bytes, size);
}

static void read_body(const bloomfile *f, void (*read_bytes)(const uint8_t *bytes, size_t size))
{
    size_t size;
    const uint8_t *bytes = bloomfile_body(f, &size);
    for (size_t at = 0; at < size; at += PIECE)
        read_bytes(bytes + at, size - at < PIECE ? size - at : PIECE);
}

enum {
    ZLIB,
    ONE_THREAD = 3,
    TWO_THREADS,
    READERS = 8
};

static const struct {
    const char *name;
    void (*read_bytes)(const uint8_t *bytes, size_t size); /* NULL: verified */
    unsigned threads, flags;
} readers[READERS] = {
    [ZLIB] = { "zlib's crc32", sum_with_zlib, 1, BLOOMFILE_PREFAULT },
    { "libdeflate's crc32", sum_with_libdeflate, 1, BLOOMFILE_PREFAULT },
    { "reading, summing words", read_words, 1, BLOOMFILE_PREFAULT },
    [ONE_THREAD] = { "bloomfile_verify", NULL, 1, BLOOMFILE_PREFAULT },
    [TWO_THREADS] = { "the same, 2 threads", NULL, 2, BLOOMFILE_PREFAULT },
    { "the same, 4 threads", NULL, 4, BLOOMFILE_PREFAULT },
    { "1 thread, with page faults", NULL, 1, 0 },
    { "2 threads, with page faults", NULL, 2, 0 },
};

static uint64_t mebibytes;

static void measure_reader(size_t row, double *rate)
{
    bloomfile *f = bench_open(path, readers[row].flags);
    const double start = bench_seconds();
    if (readers[row].read_bytes != NULL)
        read_body(f, readers[row].read_bytes);
    else
        bench_check(bloomfile_verify(f, readers[row].threads, NULL), "verify the filter");
    *rate = (double)(mebibytes << 20) / (bench_seconds() - start);
    bloomfile_close(f);
}

static void judge_if(bool judged, double least, double is)
{
    if (judged)
        table_row(">= %.1f|%s", least, table_verdict(is >= least));
    else
        table_row("|");
}

void file_verify(void)
{
    const uint64_t turns = file_number(file_options.turns, 9);
    mebibytes = file_number(file_options.mib, 1024);
    bench_make_filter(path, BLOOMFILE_BLOCKED, mebibytes << 20, 6);
    printf("a filter of %" PRIu64 " MiB; medians of %" PRIu64 " turns\n\n", mebibytes, turns);
    struct turns t = turns_take(READERS, 1, turns, measure_reader);
    table_start("|>GB/s|>of zlib|>of one thread|target|verdict");
    for (size_t i = 0; i < READERS; i++) {
        const double zlib = turns_ratio(&t, i, ZLIB, 0), one = turns_ratio(&t, i, ONE_THREAD, 0);
        table_cells("%s|%.2f|%.3f|%.3f|", readers[i].name, turns_median(&t, i, 0) / 1e9, zlib, one);
        judge_if(i == ONE_THREAD || i == TWO_THREADS, i == ONE_THREAD ? LEAST_ONE : LEAST_TWO,
                 i == ONE_THREAD ? zlib : one);
    }
    table_end();
    free(t.values);
}

/* ---- doubt: batches of lookups while pages are unknown or bad */

static bloomfile_digest *digests;
static uint64_t keys;

/* Nanoseconds a key. */
static double look_up(const bloomfile *f)
{
    const double start = bench_seconds();
    for (uint64_t i = 0; i < keys; i += BATCH)
        sink +=
            bloomfile_contains_digests(f, digests + i, keys - i < BATCH ? keys - i : BATCH, NULL);
    return (bench_seconds() - start) / (double)keys * 1e9;
}

static const struct {
    const char *path;
    unsigned flags;
    bool again, bad; /* the same keys a second time; after a verification that finds a bad page */
} states[] = {
    { path, BLOOMFILE_VERIFY_NONE, false, false },
    { path, BLOOMFILE_VERIFY_FULL, false, false },
    { path, 0, false, false },
    { path, 0, true, false },
    { damaged_path, 0, false, true },
};

#define STATES (sizeof states / sizeof states[0])

static void measure_doubt(size_t state, double *time)
{
    bloomfile *f = bench_open(states[state].path, states[state].flags | BLOOMFILE_PREFAULT);
    if (states[state].bad && bloomfile_verify(f, 1, NULL) != BLOOMFILE_EPAGE)
        bench_fail(0, "find the damaged page");
    if (states[state].again)
        look_up(f);
    *time = look_up(f);
    bloomfile_close(f);
}

static void make_filters(uint32_t layout)
{
    const uint8_t other = 0xA5;
    bench_make_filter(path, layout, mebibytes << 20, 7);
    bench_make_filter(damaged_path, layout, mebibytes << 20, 7);
    const int fd = bench_call(open(damaged_path, O_WRONLY | O_CLOEXEC), "open the filter");
    bench_call((int)pwrite(fd, &other, 1, HEADER + 12345), "damage the filter");
    bench_call(close(fd), "damage the filter");
}

void file_doubt(void)
{
    mebibytes = file_number(file_options.mib, 128);
    keys = file_number(file_options.keys, 200000);
    digests = bench_memory(malloc(keys * sizeof *digests));
    bench_digests(0, 0, digests, keys);
    printf("%" PRIu64 " MiB, %" PRIu64 " keys; ns a key, the least of all turns\n\n", mebibytes,
           keys);
    table_start("layout|>trusted|>verified|>new|>again|>bad page");
    for (uint32_t layout = BLOOMFILE_BLOCKED; layout <= BLOOMFILE_COUNTING; layout++) {
        make_filters(layout);
        struct turns t = turns_take(STATES, 1, file_number(file_options.turns, 20), measure_doubt);
        table_cells("%s", bench_layout_name(layout));
        for (size_t state = 0; state < STATES; state++)
            table_cells("|%.1f", turns_least(&t, state, 0));
        table_row("%s", "");
        free(t.values);
    }
    table_end();
    free(digests);
}

/* ---- memory: flags of open, without the checksums of pages but for one row */

#define FIRST 1000000u
#define WARM  (1u << 22) /* 256 MiB of blocks, more than caches hold */

static const struct {
    const char *name;
    unsigned flags;
} openings[] = {
    { "mapped", BLOOMFILE_VERIFY_NONE },
    { "mapped, verified lazily", 0 },
    { "BLOOMFILE_PREFAULT", BLOOMFILE_VERIFY_NONE | BLOOMFILE_PREFAULT },
    { "BLOOMFILE_LOCK", BLOOMFILE_VERIFY_NONE | BLOOMFILE_LOCK },
    { "BLOOMFILE_COPY", BLOOMFILE_VERIFY_NONE | BLOOMFILE_COPY },
};

enum figure {
    OPEN_MS,
    FIRST_MS,
    BATCH_NS,
    SINGLE_NS,
    FIGURES
};

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

static void measure_opening(size_t row, double *figures)
{
    const double start = bench_seconds();
    bloomfile *f = bench_open(path, openings[row].flags);
    figures[OPEN_MS] = (bench_seconds() - start) * 1e3;
    figures[FIRST_MS] = batch_seconds(f, FIRST) * 1e3;
    if ((openings[row].flags & BLOOMFILE_VERIFY_NONE) == 0)
        bench_check(bloomfile_verify(f, 1, NULL), "verify a filter");
    batch_seconds(f, WARM);
    figures[BATCH_NS] = batch_seconds(f, WARM) * 1e9 / WARM;
    figures[SINGLE_NS] = single_seconds(f, WARM) * 1e9 / WARM;
    bloomfile_close(f);
}

void file_memory(void)
{
    const size_t rows = sizeof openings / sizeof openings[0];
    const uint64_t turns = file_number(file_options.turns, 5);
    mebibytes = file_number(file_options.mib, 1192);
    bench_make_filter(path, BLOOMFILE_BLOCKED, mebibytes << 20, 6);
    digests = bench_memory(malloc(WARM * sizeof *digests));
    bench_digests(0, 1ULL << 60, digests, WARM);
    printf("a filter of %" PRIu64 " MiB; medians of %" PRIu64 " turns\n\n", mebibytes, turns);
    struct turns t = turns_take(rows, FIGURES, turns, measure_opening);
    table_start("|>open ms|>first 10^6|>batch ns|>ratio|>single ns|>ratio");
    for (size_t r = 0; r < rows; r++)
        table_row("%s|%.2f|%.1f|%.2f|%.3f|%.2f|%.3f", openings[r].name,
                  turns_median(&t, r, OPEN_MS), turns_median(&t, r, FIRST_MS),
                  turns_median(&t, r, BATCH_NS), turns_ratio(&t, r, 0, BATCH_NS),
                  turns_median(&t, r, SINGLE_NS), turns_ratio(&t, r, 0, SINGLE_NS));
    table_end();
    free(t.values);
    free(digests);
}

/* ---- all */

static uint64_t chosen;
static const char *const names[] = {
    "verify", "doubt", "memory", "split", "scale", "oversize", NULL
};

static void run(void)
{
    static void (*const cases[])(void) = { file_verify, file_doubt, file_memory,
                                           file_split,  file_scale, file_oversize };
    if (chosen == 0)
        bench_fail(0, "run without --case");
    cases[chosen - 1]();
}

static uint64_t room(void)
{
    const uint64_t files[] = { 0, 1035, 387, 1204, 0, 0, 0 }; /* MiB */
    if (chosen == 5)
        return file_scale_room();
    return file_options.mib != 0 && chosen <= 3 ? 3 * (file_options.mib + 1) << 20
                                                : files[chosen] << 20;
}

const struct benchmark benchmark = {
    .what = "verify: checksums of a filter. doubt: lookups while pages are unknown or bad. memory: flags\n"
            "of opening; locking memory must be allowed (ulimit -l). split: lines of input. scale: 5 * 10^9\n"
            "keys into 4 GiB, with 8 bytes a key on the disk. oversize: what folding leaves of a filter made\n"
            "too large. A number that is not given is the usual number of the case.\n",
    .options = {
        OPTION_WORD("case", &chosen, names, "what is measured"),
        OPTION_NUMBER("mib", &file_options.mib, 0, 0, 1, 65536, "MiB of a filter: verify, doubt, memory"),
        OPTION_NUMBER("keys", &file_options.keys, 0, 0, 1, 1000000000000, "keys: doubt, scale"),
        OPTION_NUMBER("turns", &file_options.turns, 0, 0, 1, 1000, "turns: verify, doubt, memory, split"),
        OPTION_NUMBER("memory", &file_options.memory, 0, 0, 1, UINT64_MAX >> 20, "MiB of memory: scale"),
        OPTION_NUMBER("threads", &file_options.threads, 0, 0, 1, 64, "threads: scale"),
        OPTION_FLAG("few", &file_options.quick, "fewer and smaller filters: oversize"),
    },
    .room = room,
    .run = run,
};
