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
#include <time.h>

#include "bench.h"
#include "options.h"
#include "scratch.h"

static const char help[] =
    "usage: bench-insert [--rounds N] [--keys N] [DIRECTORY]\n"
    "Print what a key costs that is added to a builder as a digest, in Markdown; of 10^6, 10^7 "
    "and\n"
    "10^8 keys, or N. Each round (of 5) does everything once; the medians are shown.\n"
    "\n"
    "  copy, new         the digests are copied to memory that has not been touched\n"
    "  copy              and once more\n"
    "  partition         one pass puts them into 512 partitions there, whose sizes are known\n"
    "  bits given        a filter of 10 bits a key is built from them, in memory\n"
    "  by count          the same, sized for 1 % by the number of distinct digests\n"
    "  ..., 2 threads    the same by two threads, both adding\n"
    "  ..., to a file    the same, published in DIRECTORY (/dev/shm)\n"
    "\n"
    "Times are of the processor, so that a busy machine stretches them less; those of threads are\n"
    "by the clock on the wall.\n";

#define BATCH       4096
#define PARTITIONS  512
#define ROUNDS      5
#define ROUNDS_MOST 101
#define BITS        10
#define ROOM        (1 << 28) /* bytes of files */

static bloomfile_digest *digests;
static uint64_t keys;

static double processor_seconds(void)
{
    struct timespec now;
    bench_call(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), "read the clock");
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

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

struct copies {
    double fresh, again, partition;
};

static void partition(const size_t *start, bloomfile_digest *to)
{
    size_t next[PARTITIONS];
    memcpy(next, start, sizeof next);
    for (uint64_t i = 0; i < keys; i++)
        to[next[digests[i] / (UINT64_MAX / PARTITIONS + 1)]++] = digests[i];
}

static struct copies copy(void)
{
    struct copies c;
    size_t start[PARTITIONS] = { 0 };
    for (uint64_t i = 0; i < keys; i++)
        start[digests[i] / (UINT64_MAX / PARTITIONS + 1)]++;
    for (size_t p = 0, sum = 0, count; p < PARTITIONS; p++, sum += count) {
        count = start[p];
        start[p] = sum;
    }
    bloomfile_digest *to = new_pages();
    const double begin = processor_seconds();
    memcpy(to, digests, keys * sizeof *to);
    const double first = processor_seconds();
    memcpy(to, digests, keys * sizeof *to);
    const double second = processor_seconds();
    partition(start, to);
    c.partition = processor_seconds() - second;
    c.again = second - first;
    c.fresh = first - begin;
    free_pages(to);
    return c;
}

/* ---- building */

enum kind {
    BITS_GIVEN,
    BY_COUNT,
    BITS_GIVEN_2,
    BY_COUNT_2,
    TO_A_FILE,
    KINDS
};

static const struct {
    const char *name;
    unsigned threads;
    bool bits, file;
} kinds[KINDS] = {
    [BITS_GIVEN] = { "bits given", 1, true, false },
    [BY_COUNT] = { "by count", 1, false, false },
    [BITS_GIVEN_2] = { "bits given, 2 threads", 2, true, false },
    [BY_COUNT_2] = { "by count, 2 threads", 2, false, false },
    [TO_A_FILE] = { "bits given, to a file", 1, true, true },
};

struct built {
    double adding, finishing;
    uint64_t bits;
    uint32_t hashes;
    double rate;
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

/* Reads what was built. */
static void inspect(bloomfile *f, struct built *built)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    bloomfile_get_info(f, &info);
    bench_check(bloomfile_measure(f, &measure), "measure a filter");
    built->bits = info.bits;
    built->hashes = info.hashes;
    built->rate = measure.fpr;
    bloomfile_close(f);
}

static const char path[] = "built.bloom";

static struct built build(enum kind kind)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct built built;
    bloomfile_builder *builder;
    bloomfile *f;
    void *image = NULL;
    size_t size;
    double (*seconds)(void) = kinds[kind].threads > 1 ? bench_seconds : processor_seconds;
    params.threads = kinds[kind].threads;
    if (kinds[kind].bits) {
        params.bits = keys * BITS / 512 * 512;
        params.capacity = keys;
    }
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    const double begin = seconds();
    add_all(builder, params.threads);
    const double added = seconds();
    if (kinds[kind].file)
        bench_check(bloomfile_builder_finish(builder, path, BLOOMFILE_REPLACE), "build a filter");
    else
        bench_check(bloomfile_builder_finish_memory(builder, &image, &size), "build a filter");
    built.finishing = seconds() - added;
    built.adding = added - begin;
    bloomfile_builder_free(builder);
    bench_check(kinds[kind].file ? bloomfile_open(&f, path, 0)
                                 : bloomfile_open_memory(&f, image, size, 0),
                "open a filter");
    inspect(f, &built);
    free(image);
    return built;
}

/* ---- rounds */

struct times {
    double fresh[ROUNDS_MOST], again[ROUNDS_MOST], partition[ROUNDS_MOST];
    double adding[KINDS][ROUNDS_MOST], finishing[KINDS][ROUNDS_MOST];
    struct built built[KINDS];
};

static double ns(double *seconds, unsigned rounds)
{
    return bench_median(seconds, rounds) / (double)keys * 1e9;
}

static void print_copy(const char *name, double time, double memcpy_ns)
{
    printf("| %-21s |            |               | %7.2f | %6.1f |          |   |            |\n",
           name, time, time / memcpy_ns);
}

static void print(struct times *t, unsigned rounds)
{
    const double memcpy_ns = ns(t->again, rounds);
    printf("%" PRIu64 " keys, %u rounds\n\n", keys, rounds);
    puts("|                       | adding, ns | finishing, ns | all, ns | copies | bits/key "
         "| k | exact rate |\n"
         "|-----------------------|-----------:|--------------:|--------:|-------:|---------:"
         "|--:|-----------:|");
    print_copy("copy, new", ns(t->fresh, rounds), memcpy_ns);
    print_copy("copy", memcpy_ns, memcpy_ns);
    print_copy("partition", ns(t->partition, rounds), memcpy_ns);
    for (unsigned k = 0; k < KINDS; k++) {
        const struct built *built = &t->built[k];
        const double adding = ns(t->adding[k], rounds), finishing = ns(t->finishing[k], rounds);
        printf("| %-21s | %10.2f | %13.2f | %7.2f | %6.1f | %8.3f | %" PRIu32 " | %8.5f %% |\n",
               kinds[k].name, adding, finishing, adding + finishing,
               (adding + finishing) / memcpy_ns, (double)built->bits / (double)keys, built->hashes,
               100 * built->rate);
    }
    puts("");
    bench_flush();
}

static void measure(unsigned rounds)
{
    static struct times t;
    digests = new_pages();
    bench_digests(0, 0, digests, (size_t)keys);
    for (unsigned r = 0; r < rounds; r++) {
        const struct copies c = copy();
        t.fresh[r] = c.fresh;
        t.again[r] = c.again;
        t.partition[r] = c.partition;
        for (unsigned k = 0; k < KINDS; k++) {
            const struct built b = build((enum kind)k);
            t.adding[k][r] = b.adding;
            t.finishing[k][r] = b.finishing;
            t.built[k] = b;
        }
    }
    print(&t, rounds);
    free_pages(digests);
}

int main(int argc, char **argv)
{
    uint64_t only, rounds;
    const struct bench_option options[] = {
        { "rounds", &rounds, ROUNDS, 0, 1, ROUNDS_MOST },
        { "keys", &only, 0, 0, 1000, UINT64_MAX >> 8 },
    };
    const char *where =
        bench_options(argc, argv, help, options, sizeof options / sizeof options[0]);
    scratch_make(where != NULL ? where : "/dev/shm", "bench-insert", ROOM);
    scratch_enter();
    for (keys = only > 0 ? only : 1000000; keys <= (only > 0 ? only : 100000000); keys *= 10)
        measure((unsigned)rounds);
    return 0;
}
