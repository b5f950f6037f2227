/* SPDX-License-Identifier: MIT
 *
 * bench-insert - building from digests, beside copying them and a bare partition
 */
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/program.h"
#include "harness/turns.h"

#define BATCH      4096
#define PARTITIONS 512
#define BITS       10

static bloomfile_digest *digests;
static uint64_t keys, only, rounds;

/* Pages that have not been touched, huge ones if possible. */
static bloomfile_digest *new_pages(void)
{
    void *pages = mmap(NULL, keys * sizeof *digests, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        bench_fail(0, "get memory for the keys");
    madvise(pages, keys * sizeof *digests, MADV_HUGEPAGE);
    return pages;
}

static void free_pages(bloomfile_digest *pages)
{
    bench_call(munmap(pages, keys * sizeof *pages), "give memory back");
}

/* ---- copying and partitioning */

static void partition(const size_t *start, bloomfile_digest *to)
{
    size_t next[PARTITIONS];
    memcpy(next, start, sizeof next);
    for (uint64_t i = 0; i < keys; i++)
        to[next[digests[i] / (UINT64_MAX / PARTITIONS + 1)]++] = digests[i];
}

/* The seconds of the first three rows. */
static void copy(double seconds[3])
{
    size_t start[PARTITIONS] = { 0 };
    for (uint64_t i = 0; i < keys; i++)
        start[digests[i] / (UINT64_MAX / PARTITIONS + 1)]++;
    for (size_t p = 0, sum = 0, count; p < PARTITIONS; p++, sum += count) {
        count = start[p];
        start[p] = sum;
    }
    bloomfile_digest *to = new_pages();
    const double begin = bench_processor_seconds();
    memcpy(to, digests, keys * sizeof *to);
    const double first = bench_processor_seconds();
    memcpy(to, digests, keys * sizeof *to);
    const double second = bench_processor_seconds();
    partition(start, to);
    seconds[2] = bench_processor_seconds() - second;
    seconds[1] = second - first;
    seconds[0] = first - begin;
    free_pages(to);
}

/* ---- building */

enum {
    COPY_NEW,
    COPY,
    PARTITION,
    BUILT, /* and those behind it */
    ROWS = 8
};

static const struct {
    const char *name;
    unsigned threads;
    bool bits, file;
} rows[ROWS] = {
    [COPY_NEW] = { .name = "copy, new" },
    [COPY] = { .name = "copy" },
    [PARTITION] = { .name = "partition" },
    [BUILT] = { "bits given", 1, true, false },
    { "by count", 1, false, false },
    { "bits given, 2 threads", 2, true, false },
    { "by count, 2 threads", 2, false, false },
    { "bits given, to a file", 1, true, true },
};

enum figure {
    ADDING, /* seconds */
    FINISHING,
    ALL,
    BITS_USED,
    HASHES,
    RATE,
    FIGURES
};

struct share {
    bloomfile_builder *builder;
    uint64_t from, to;
};

static void *add_share(void *argument)
{
    const struct share *s = argument;
    for (uint64_t at = s->from; at < s->to; at += BATCH) {
        const uint64_t n = s->to - at < BATCH ? s->to - at : BATCH;
        bench_check(bloomfile_builder_add_digests(s->builder, digests + at, (size_t)n), "add keys");
    }
    return NULL;
}

static void add_all(bloomfile_builder *builder, unsigned threads)
{
    struct share first = { builder, 0, keys / threads }, second = { builder, keys / threads, keys };
    pthread_t other;
    if (threads > 1)
        bench_check(pthread_create(&other, NULL, add_share, &second), "start a thread");
    add_share(&first);
    if (threads > 1)
        pthread_join(other, NULL);
}

static void inspect(bloomfile *f, double *figures)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    bloomfile_get_info(f, &info);
    bench_check(bloomfile_measure(f, &measure), "measure a filter");
    figures[BITS_USED] = (double)info.bits;
    figures[HASHES] = info.hashes;
    figures[RATE] = measure.fpr;
    bloomfile_close(f);
}

static void build(size_t row, double *figures)
{
    static const char path[] = "built.bloom";
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    bloomfile *f;
    void *image = NULL;
    size_t size;
    double (*seconds)(void) = rows[row].threads > 1 ? bench_seconds : bench_processor_seconds;
    params.threads = rows[row].threads;
    if (rows[row].bits) {
        params.bits = keys * BITS / 512 * 512;
        params.capacity = keys;
    }
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    const double begin = seconds();
    add_all(builder, params.threads);
    figures[ADDING] = seconds() - begin;
    if (rows[row].file)
        bench_check(bloomfile_builder_finish(builder, path, BLOOMFILE_REPLACE), "build a filter");
    else
        bench_check(bloomfile_builder_finish_memory(builder, &image, &size), "build a filter");
    figures[ALL] = seconds() - begin;
    figures[FINISHING] = figures[ALL] - figures[ADDING];
    bloomfile_builder_free(builder);
    bench_check(rows[row].file ? bloomfile_open(&f, path, 0)
                               : bloomfile_open_memory(&f, image, size, 0),
                "open a filter");
    inspect(f, figures);
    free(image);
}

/* ---- rounds */

static void measure(size_t row, double *figures)
{
    static double copied[BUILT];
    if (row == COPY_NEW)
        copy(copied);
    if (row < BUILT)
        figures[ALL] = copied[row];
    else
        build(row, figures);
}

static void print_row(const struct turns *t, size_t row)
{
    const double ns = 1e9 / (double)keys;
    const double adding = turns_median(t, row, ADDING) * ns,
                 finishing = turns_median(t, row, FINISHING) * ns,
                 all = row < BUILT ? turns_median(t, row, ALL) * ns : adding + finishing;
    table_cells("%s|%s|%s|%.2f|%.1f", rows[row].name, table_number(adding, 2),
                table_number(finishing, 2), all, all / (turns_median(t, COPY, ALL) * ns));
    if (row < BUILT)
        table_row("|||");
    else
        table_row("|%.3f|%.0f|%.5f %%", turns_median(t, row, BITS_USED) / (double)keys,
                  turns_median(t, row, HASHES), 100 * turns_median(t, row, RATE));
}

static void compare(void)
{
    digests = new_pages();
    bench_digests(0, 0, digests, (size_t)keys);
    struct turns t = turns_take(ROWS, FIGURES, rounds, measure);
    printf("%" PRIu64 " keys, %" PRIu64 " rounds\n\n", keys, rounds);
    table_start("|>adding, ns|>finishing, ns|>all, ns|>copies|>bits/key|>k|>exact rate");
    for (size_t row = 0; row < ROWS; row++)
        print_row(&t, row);
    table_end();
    free(t.values);
    free_pages(digests);
}

static void run(void)
{
    for (keys = only > 0 ? only : 1000000; keys <= (only > 0 ? only : 100000000); keys *= 10)
        compare();
}

static uint64_t room(void)
{
    return 1 << 28;
}

const struct benchmark benchmark = {
    .what =
            "What a key costs that is added to a builder as a digest, beside copies of all digests.\n"
            "\n"
            "  copy, new         the digests are copied to memory that has not been touched\n"
            "  copy              and once more\n"
            "  partition         one pass puts them into 512 partitions there, whose sizes are known\n"
            "  bits given        a filter of 10 bits a key is built from them, in memory\n"
            "  by count          the same, sized for 1 % by the number of distinct digests\n"
            "  ..., 2 threads    the same by two threads, both adding\n"
            "  ..., to a file    the same, published in DIRECTORY\n"
            "\n"
            "Times are of the processor, so that a busy machine stretches them less; those of threads are\n"
            "by the clock on the wall.\n",
    .options = {
        OPTION_NUMBER("rounds", &rounds, 5, 0, 1, 101, "rounds, each of which does everything once"),
        OPTION_NUMBER("keys", &only, 0, 0, 1000, UINT64_MAX >> 8, "keys, instead of 10^6, 10^7 and 10^8"),
    },
    .room = room,
    .where = "/dev/shm",
    .run = run,
};
