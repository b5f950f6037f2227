/* SPDX-License-Identifier: MIT
 *
 * bench-verify - how fast a filter is verified, beside what the machine does with the same bytes
 *
 * The file is in the page cache, and each row maps it anew: all pay for its page faults. All take
 * turns, so that a busy machine slows all alike; the ratio is the median of the ratios of the
 * turns.
 */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bench.h"
#include "options.h"
#include "scratch.h"

#define SIZE      1024 /* MiB */
#define MAX_SIZE  65536
#define TURNS     9
#define MAX_TURNS 101
#define PIECE     ((size_t)1 << 20)
#define LEAST_ONE 0.9 /* of zlib's crc32 */
#define LEAST_TWO 1.8 /* of one thread */

static const char help[] = "usage: bench-verify [--mib N] [--turns N] [DIRECTORY]\n"
                           "Verify a filter of N MiB (1024; 1 to 65536) in DIRECTORY ($TMPDIR or "
                           "/var/tmp), N times (9), and\n"
                           "print how fast that is, in Markdown. Takes twice that size of memory.\n"
                           "The exit status is 1 if a figure misses its target.\n";

static const char path[] = "filter.bloom";
static size_t body_size;

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

static const struct row {
    const char *name;
    void (*read_bytes)(const uint8_t *bytes, size_t size); /* NULL: verified */
    unsigned threads, flags;
} rows[] = {
    { "zlib's crc32", sum_with_zlib, 1, BLOOMFILE_PREFAULT },
    { "libdeflate's crc32", sum_with_libdeflate, 1, BLOOMFILE_PREFAULT },
    { "reading, summing words", read_words, 1, BLOOMFILE_PREFAULT },
    { "bloomfile_verify", NULL, 1, BLOOMFILE_PREFAULT },
    { "the same, 2 threads", NULL, 2, BLOOMFILE_PREFAULT },
    { "the same, 4 threads", NULL, 4, BLOOMFILE_PREFAULT },
    { "1 thread, with page faults", NULL, 1, 0 },
    { "2 threads, with page faults", NULL, 2, 0 },
};

enum {
    ZLIB = 0,
    ONE_THREAD = 3,
    TWO_THREADS = 4,
    ROWS = sizeof rows / sizeof rows[0]
};

/* Bytes a second. */
static double rate_of(const struct row *row)
{
    bloomfile *f;
    bench_check(bloomfile_open(&f, path, row->flags), "open the filter");
    const double start = bench_seconds();
    if (row->read_bytes != NULL)
        read_body(f, row->read_bytes);
    else
        bench_check(bloomfile_verify(f, row->threads, NULL), "verify the filter");
    const double seconds = bench_seconds() - start;
    bloomfile_close(f);
    return (double)body_size / seconds;
}

/* ---- */

static void make_filter(size_t size)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.bits = (uint64_t)size * 8;
    params.hashes = 6;
    params.capacity = params.bits / 10;
    uint8_t *body = bench_random_bytes(size);
    bench_check(bloomfile_assemble(path, &params, body, 0, params.capacity, 0), "make a filter");
    free(body);
    body_size = size;
}

static void print_row(unsigned i, double rate, double of_zlib, double of_one, const char *target,
                      bool kept)
{
    printf("| %-27s | %6.2f | %7.3f | %13.3f | %-7s | %-7s |\n", rows[i].name, rate / 1e9, of_zlib,
           of_one, target,
           target[0] == '\0' ? ""
           : kept            ? "ok"
                             : "MISSED");
}

static bool compare(unsigned turns)
{
    static double rates[ROWS][MAX_TURNS], of_zlib[ROWS][MAX_TURNS], of_one[ROWS][MAX_TURNS];
    bool good = true;
    for (unsigned turn = 0; turn < turns; turn++) {
        for (unsigned i = 0; i < ROWS; i++)
            rates[i][turn] = rate_of(&rows[i]);
        for (unsigned i = 0; i < ROWS; i++) {
            of_zlib[i][turn] = rates[i][turn] / rates[ZLIB][turn];
            of_one[i][turn] = rates[i][turn] / rates[ONE_THREAD][turn];
        }
    }
    puts("|                             |   GB/s | of zlib | of one thread | target  | verdict |\n"
         "|-----------------------------|-------:|--------:|--------------:|---------|---------|");
    for (unsigned i = 0; i < ROWS; i++) {
        const double zlib = bench_median(of_zlib[i], turns), one = bench_median(of_one[i], turns);
        const char *target = i == ONE_THREAD ? ">= 0.9" : i == TWO_THREADS ? ">= 1.8" : "";
        const bool kept =
            (i != ONE_THREAD || zlib >= LEAST_ONE) && (i != TWO_THREADS || one >= LEAST_TWO);
        print_row(i, bench_median(rates[i], turns), zlib, one, target, kept);
        good &= kept;
    }
    return good;
}

int main(int argc, char **argv)
{
    uint64_t size, turns;
    const struct bench_option options[] = {
        { "mib", &size, SIZE, 0, 1, MAX_SIZE },
        { "turns", &turns, TURNS, 0, 1, MAX_TURNS },
    };
    const char *where =
        bench_options(argc, argv, help, options, sizeof options / sizeof options[0]);
    scratch_make(where, "bench-verify", (size << 20) / 100 * 101);
    scratch_enter();
    make_filter((size_t)size << 20);
    printf("a filter of %" PRIu64 " MiB; medians of %" PRIu64 " turns\n\n", size, turns);
    const bool good = compare((unsigned)turns);
    bench_flush();
    return good ? 0 : BENCH_MISSED;
}
