/* SPDX-License-Identifier: MIT
 *
 * bench-combine - how fast filters fold and merge, compared with copying their bytes
 *
 * In memory: the library's internal code for bits, from a body to a smaller body. It is compared
 * with memcpy. In files: whole calls of bloomfile_fold() and bloomfile_merge(), from files in
 * /dev/shm to a new file there. These also open the files, verify every page, compute checksums,
 * and put the new file in place.
 *
 * Half of the bits are set.
 */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/program.h"
#include "kernel/dispatch.h"
#include "kernel/kernel.h"

#define SOURCES    2
#define FOLDS_BY   221760 /* 8 times a multiple of every number up to 12: folds to whole bytes */
#define TARGET     0.60
#define WRITE_SIZE ((size_t)1 << 20)
#define PIECE      ((size_t)1 << 16)

static uint64_t mebibytes, turns;

/* The sources: bodies in memory, for memcpy, and the same bodies as filters. */
static struct {
    struct bloomfile_params params;
    size_t size;
    uint64_t unit_bits; /* bits of a unit */
    uint8_t *bodies[SOURCES], *copy;
} subject;

static const char *const source_paths[SOURCES] = { "a.bloom", "b.bloom" };
static const char result_path[] = "result.bloom";

/* ---- the timed operations */

struct operation {
    const char *name;
    void (*run)(const struct operation *o);
    uint64_t factor;
    unsigned sources;
    bool judged; /* has a target in the blocked layout */
};

static void copy_bytes(const struct operation *o)
{
    for (unsigned i = 0; i < o->sources; i++)
        memcpy(subject.copy, subject.bodies[i], subject.size);
}

static void write_bytes(const struct operation *o)
{
    (void)o;
    unlink(result_path);
    const int fd =
        bench_call(open(result_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), "make a file");
    for (size_t done = 0; done < subject.size;) {
        const size_t left = subject.size - done;
        const ssize_t n =
            write(fd, subject.bodies[0] + done, left < WRITE_SIZE ? left : WRITE_SIZE);
        if (n < 0)
            bench_fail(errno, "write a file");
        done += (size_t)n;
    }
    bench_call(close(fd), "write a file");
}

static void verify(const struct operation *o)
{
    (void)o;
    bloomfile_filter *f = bench_open(source_paths[0], 0);
    bench_check(bloomfile_verify(f, 1, NULL), "verify a filter");
    bloomfile_close(f);
}

/* Folds the sources into one body, piece by piece, so that a piece stays in the cache. */
static void combine_bytes(const struct operation *o)
{
    const struct kernel *kernel = kernel_for(subject.params.layout);
    const size_t size = subject.size / o->factor;
    for (size_t at = 0, n; at < size; at += n) {
        n = size - at < PIECE ? size - at : PIECE;
        memset(subject.copy + at, 0, n);
        for (unsigned i = 0; i < o->sources; i++)
            kernel->fold(subject.copy + at, subject.bodies[i] + at * o->factor, 0,
                         n * o->factor * 8 / subject.unit_bits, o->factor);
    }
}

static void fold(const struct operation *o)
{
    bloomfile_filter *f = bench_open(source_paths[0], 0);
    struct bloomfile_destination to = bloomfile_to_path(result_path, BLOOMFILE_TO_REPLACE);
    bench_check(bloomfile_fold(&to, f, o->factor, NULL), "fold a filter");
    bloomfile_close(f);
}

static void unite(const struct operation *o)
{
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    struct bloomfile_destination to = bloomfile_to_path(result_path, BLOOMFILE_TO_REPLACE);
    bloomfile_filter *sources[SOURCES];
    params.max_fpr = 1;
    for (unsigned i = 0; i < o->sources; i++)
        sources[i] = bench_open(source_paths[i], 0);
    bench_check(bloomfile_merge(&to, (const bloomfile_filter *const *)sources, o->sources, &params),
                "merge filters");
    for (unsigned i = 0; i < o->sources; i++)
        bloomfile_close(sources[i]);
}

static const struct operation operations[] = {
    { "memcpy", copy_bytes, 1, SOURCES, false },
    { "fold by 2, in memory", combine_bytes, 2, 1, true },
    { "fold by 3, in memory", combine_bytes, 3, 1, true },
    { "fold by 12, in memory", combine_bytes, 12, 1, true },
    { "fold by 15, in memory", combine_bytes, 15, 1, true },
    { "fold by 120, in memory", combine_bytes, 120, 1, true },
    { "union of 2, in memory", combine_bytes, 1, 2, true },
    { "write() to a new file", write_bytes, 1, 1, false },
    { "bloomfile_verify", verify, 1, 1, false },
    { "fold by 2, files", fold, 2, 1, false },
    { "fold by 3, files", fold, 3, 1, false },
    { "fold by 12, files", fold, 12, 1, false },
    { "fold by 120, files", fold, 120, 1, false },
    { "union of 2, files", unite, 1, 2, false },
};

#define OPERATIONS (sizeof operations / sizeof operations[0])

/* ---- subjects */

/* Fills a body with bits of which half are set, or with counters of 0 to 3. */
static void fill(uint8_t *body, size_t size, uint32_t layout, uint64_t seed)
{
    const uint64_t mask = layout == BLOOMFILE_LAYOUT_COUNTING ? 0x3333333333333333 : UINT64_MAX;
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        const uint64_t word = bloomfile_hash(seed, &at, sizeof at) & mask;
        memcpy(body + at, &word, size - at < sizeof word ? size - at : sizeof word);
    }
}

/* Makes bodies of at most that size, which fold by many factors. */
static void make_subject(uint32_t layout, size_t most)
{
    subject.unit_bits = layout == BLOOMFILE_LAYOUT_BLOCKED   ? 512
                        : layout == BLOOMFILE_LAYOUT_CLASSIC ? 1
                                                             : 4;
    const uint64_t units = most * 8 / subject.unit_bits / FOLDS_BY * FOLDS_BY;
    subject.size = units * subject.unit_bits / 8;
    subject.params = BLOOMFILE_PARAMS_INIT;
    subject.params.layout = layout;
    subject.params.bits = layout == BLOOMFILE_LAYOUT_BLOCKED ? units * 512 : units;
    subject.params.hashes = 7;
    subject.params.capacity = subject.params.bits / 10;
    for (unsigned i = 0; i < SOURCES; i++) {
        fill(subject.bodies[i], subject.size, layout, i + 1);
        struct bloomfile_destination to = bloomfile_to_path(source_paths[i], BLOOMFILE_TO_REPLACE);
        bench_check(bloomfile_assemble(&to, &subject.params, subject.bodies[i], subject.size, 0,
                                       subject.params.capacity),
                    "make a filter");
    }
}

static uint8_t *touched_memory(size_t size)
{
    uint8_t *memory = bench_memory(malloc(size));
    memset(memory, 1, size);
    return memory;
}

static void measure(size_t i, double *rate)
{
    const struct operation *o = &operations[i];
    const double start = bench_seconds();
    o->run(o);
    *rate = (double)(o->sources * subject.size) / (bench_seconds() - start);
}

static void compare(uint32_t layout)
{
    struct turns t = turns_take(OPERATIONS, 1, turns, measure);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        const double ratio = turns_ratio(&t, i, 0, 0);
        table_cells("%s|%s|%.2f|%.3f|", bench_layout_name(layout), operations[i].name,
                    turns_median(&t, i, 0) / 1e9, ratio);
        if (operations[i].judged && layout == BLOOMFILE_LAYOUT_BLOCKED)
            table_row(">= %.2f|%s", TARGET, table_verdict(ratio >= TARGET));
        else
            table_row("|");
    }
    free(t.values);
}

static void run(void)
{
    subject.copy = touched_memory(mebibytes << 20);
    for (unsigned i = 0; i < SOURCES; i++)
        subject.bodies[i] = touched_memory(mebibytes << 20);
    printf("filters of %" PRIu64 " MiB; medians of %" PRIu64
           " turns; bytes are those of the sources\n\n",
           mebibytes, turns);
    table_start("layout|operation|>GB/s|>of memcpy|target|verdict");
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING;
         layout++) {
        make_subject(layout, mebibytes << 20);
        compare(layout);
    }
    table_end();
    for (unsigned i = 0; i < SOURCES; i++)
        free(subject.bodies[i]);
    free(subject.copy);
}

static uint64_t room(void)
{
    return (SOURCES + 2) * mebibytes << 20;
}

const struct benchmark benchmark = {
    .what =
            "Folds and merges filters, and copies as much with memcpy. Takes 7 times their size of memory.\n",
    .options = {
        OPTION_NUMBER("mib", &mebibytes, 256, 0, 16, 4096, "MiB of a filter"),
        OPTION_NUMBER("turns", &turns, 9, 0, 1, MOST_TURNS, "turns"),
    },
    .room = room,
    .where = "/dev/shm",
    .run = run,
};
