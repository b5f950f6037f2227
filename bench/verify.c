/* SPDX-License-Identifier: MIT
 *
 * bench-verify - how fast a filter is verified, beside what the machine does with the same bytes
 *
 * The file is in the page cache, and each row maps it anew: all pay for its page faults.
 */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "harness/program.h"
#include "harness/turns.h"

#define PIECE     ((size_t)1 << 20)
#define LEAST_ONE 0.9 /* of zlib's crc32 */
#define LEAST_TWO 1.8 /* of one thread */

static const char path[] = "filter.bloom";
static uint64_t mebibytes, turns;

/* ---- what is timed */

static uint32_t sink;

static void read_words(const uint8_t *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t at = 0; at + sizeof sum <= size; at += sizeof sum) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        sum += word;
    }
    sink += (uint32_t)sum;
}

static void sum_with_zlib(const uint8_t *bytes, size_t size)
{
    sink += (uint32_t)crc32_z(0, bytes, size);
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
    ROWS = 8
};

static const struct {
    const char *name;
    void (*read_bytes)(const uint8_t *bytes, size_t size); /* NULL: verified */
    unsigned threads, flags;
} rows[ROWS] = {
    [ZLIB] = { "zlib's crc32", sum_with_zlib, 1, BLOOMFILE_PREFAULT },
    { "libdeflate's crc32", sum_with_libdeflate, 1, BLOOMFILE_PREFAULT },
    { "reading, summing words", read_words, 1, BLOOMFILE_PREFAULT },
    [ONE_THREAD] = { "bloomfile_verify", NULL, 1, BLOOMFILE_PREFAULT },
    [TWO_THREADS] = { "the same, 2 threads", NULL, 2, BLOOMFILE_PREFAULT },
    { "the same, 4 threads", NULL, 4, BLOOMFILE_PREFAULT },
    { "1 thread, with page faults", NULL, 1, 0 },
    { "2 threads, with page faults", NULL, 2, 0 },
};

/* Bytes a second. */
static void measure(size_t row, double *rate)
{
    bloomfile *f = bench_open(path, rows[row].flags);
    const double start = bench_seconds();
    if (rows[row].read_bytes != NULL)
        read_body(f, rows[row].read_bytes);
    else
        bench_check(bloomfile_verify(f, rows[row].threads, NULL), "verify the filter");
    *rate = (double)(mebibytes << 20) / (bench_seconds() - start);
    bloomfile_close(f);
}

static void run(void)
{
    bench_make_filter(path, BLOOMFILE_BLOCKED, mebibytes << 20, 6);
    printf("a filter of %" PRIu64 " MiB; medians of %" PRIu64 " turns\n\n", mebibytes, turns);
    struct turns t = turns_take(ROWS, 1, turns, measure);
    table_start("|>GB/s|>of zlib|>of one thread|target|verdict");
    for (size_t i = 0; i < ROWS; i++) {
        const double zlib = turns_ratio(&t, i, ZLIB, 0), one = turns_ratio(&t, i, ONE_THREAD, 0);
        table_cells("%s|%.2f|%.3f|%.3f|", rows[i].name, turns_median(&t, i, 0) / 1e9, zlib, one);
        if (i == ONE_THREAD)
            table_row(">= %.1f|%s", LEAST_ONE, table_verdict(zlib >= LEAST_ONE));
        else if (i == TWO_THREADS)
            table_row(">= %.1f|%s", LEAST_TWO, table_verdict(one >= LEAST_TWO));
        else
            table_row("|");
    }
    table_end();
    free(t.values);
}

static uint64_t room(void)
{
    return (mebibytes << 20) / 100 * 101;
}

const struct benchmark benchmark = {
    .what =
            "Verifies a filter. Takes twice its size of memory.\n",
    .options = {
        OPTION_NUMBER("mib", &mebibytes, 1024, 0, 1, 65536, "MiB of the filter"),
        OPTION_NUMBER("turns", &turns, 9, 0, 1, 101, "turns"),
    },
    .room = room,
    .run = run,
};
