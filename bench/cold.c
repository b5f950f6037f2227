/* SPDX-License-Identifier: MIT
 *
 * bench-cold - what lookups in a filter cost that is not in memory
 *
 * Before each row the file is dropped from the page cache, and mincore() must say so. Each key lies
 * in a page of its own. What was read is told by mincore(), in pages of the file that are in the
 * page cache afterwards, and by /proc/self/io, in bytes that came from the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/program.h"
#include "harness/residence.h"
#include "harness/turns.h"

#define MAX_KEYS     100000
#define PAGE         4096
#define BLOCK        64
#define HEADER_PAGES 4 /* the kernel reads that far ahead from the beginning of a file */

static const char path[] = "filter.bloom";
static uint64_t mebibytes, keys, turns, layout;
static const char *const layouts[] = { "blocked", "ribbon", NULL };

static struct {
    size_t keys;
    size_t checksum_pages; /* that the keys need */
    uint64_t digests[MAX_KEYS];
} subject;

/* ---- what is timed */

static size_t sink;

static void look_up_singly(const bloomfile *f)
{
    for (size_t i = 0; i < subject.keys; i++)
        sink += bloomfile_contains_digest(f, subject.digests[i]);
}

static void look_up_at_once(const bloomfile *f)
{
    sink += bloomfile_contains_digests(f, subject.digests, subject.keys, NULL);
}

__extension__ typedef unsigned __int128 uint128;

static uint64_t page_of(uint64_t digest)
{
    return (uint64_t)((uint128)digest * ((mebibytes << 20) / BLOCK) >> 64) * BLOCK / PAGE;
}

/* The least there is to do: each page is read by itself. */
static void read_pages(const bloomfile *f)
{
    (void)f;
    uint8_t page[PAGE];
    const int fd = bench_call(open(path, O_RDONLY | O_CLOEXEC), "open the filter");
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    for (size_t i = 0; i < subject.keys; i++)
        if (pread(fd, page, PAGE, (off_t)((page_of(subject.digests[i]) + 1) * PAGE)) != PAGE)
            bench_fail(errno, "read a page");
    close(fd);
}

static void nothing(const bloomfile *f)
{
    (void)f;
}

#define LAZILY 0
#define NOT    BLOOMFILE_VERIFY_NONE

static const struct {
    const char *name;
    void (*look_up)(const bloomfile *f);
    unsigned flags;
    bool judged;
} rows[] = {
    { "pread of each page, nothing else", read_pages, NOT, false },
    { "one by one, not verified", look_up_singly, NOT, true },
    { "at once, not verified", look_up_at_once, NOT, true },
    { "one by one, verified lazily", look_up_singly, LAZILY, true },
    { "at once, verified lazily", look_up_at_once, LAZILY, true },
    { "opening with BLOOMFILE_PREFAULT", nothing, BLOOMFILE_PREFAULT, false },
    { "opening with BLOOMFILE_COPY", nothing, BLOOMFILE_COPY, false },
};

enum figure {
    MS,
    CACHED, /* pages */
    READ,   /* pages */
    FIGURES
};

enum {
    ROWS = sizeof rows / sizeof rows[0]
};

static void drop(void)
{
    int error = residence_drop(path);
    bench_check(error, "drop the filter from the page cache");
    const size_t pages = residence_pages(path, &error);
    bench_check(error, "find out what is in the page cache");
    if (pages != 0)
        bench_fail(0, "drop the filter from the page cache; name a folder on a disk");
}

static void measure(size_t row, double *figures)
{
    int error;
    drop();
    const uint64_t read_before = residence_read_bytes();
    const double start = bench_seconds();
    bloomfile *f = bench_open(path, rows[row].flags);
    rows[row].look_up(f);
    figures[MS] = (bench_seconds() - start) * 1e3;
    figures[READ] = (double)(residence_read_bytes() - read_before) / PAGE;
    figures[CACHED] = (double)residence_pages(path, &error);
    bench_check(error, "find out what is in the page cache");
    bench_check(bloomfile_status(f), "trust the filter");
    bloomfile_close(f);
}

/* Keys in pages of their own, none of them beside the header, in no order. */
static void choose_keys(void)
{
    const size_t pages = (mebibytes << 20) / PAGE;
    uint8_t *taken = bench_memory(calloc(pages, 1)), *checksums = bench_memory(calloc(pages, 1));
    for (uint64_t key = 0; subject.keys < keys; key++) {
        bloomfile_digest digest;
        bench_digests(0, (1ULL << 60) + key, &digest, 1);
        const uint64_t page = page_of(digest);
        if (page < HEADER_PAGES || taken[page]++ != 0)
            continue;
        subject.digests[subject.keys++] = digest;
        subject.checksum_pages += checksums[page * 4 / PAGE]++ == 0;
    }
    free(taken);
    free(checksums);
}

static void print_row(const struct turns *t, size_t i)
{
    const double ms = turns_median(t, i, MS), cached = turns_median(t, i, CACHED),
                 read = turns_median(t, i, READ);
    const size_t allowed =
        subject.keys + HEADER_PAGES + ((rows[i].flags & NOT) != 0 ? 0 : subject.checksum_pages);
    table_cells("%s|%.1f|%.1f|%.0f|%.0f|", rows[i].name, ms, ms * 1e3 / (double)subject.keys,
                cached, read);
    if (rows[i].judged)
        table_row("%zu|%s", allowed,
                  table_verdict(cached <= (double)allowed && read <= (double)allowed));
    else
        table_row("|");
}

/* Only keys can make one. */
static void make_ribbon(void)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    params.layout = BLOOMFILE_RIBBON;
    params.bits = mebibytes << 23;
    params.capacity = params.bits / 8;
    params.memory = (uint64_t)256 << 20;
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    bench_add_keys(builder, 0, 0, params.capacity);
    bench_check(bloomfile_builder_finish(builder, path, BLOOMFILE_REPLACE), "make a filter");
    bloomfile_builder_free(builder);
}

static void run(void)
{
    if (keys > (mebibytes << 20) / PAGE / 2)
        bench_fail(0, "find as many pages: at most one in two can have a key");
    if (layout == 2)
        make_ribbon();
    else
        bench_make_filter(path, BLOOMFILE_BLOCKED, mebibytes << 20, 6);
    choose_keys();
    printf("%" PRIu64 " keys in a filter of %" PRIu64 " MiB; medians of %" PRIu64 " turns\n\n",
           keys, mebibytes, turns);
    struct turns t = turns_take(ROWS, FIGURES, turns, measure);
    table_start("|>ms|>us a key|>pages cached|>pages read|>most allowed|verdict");
    for (size_t i = 0; i < ROWS; i++)
        print_row(&t, i);
    table_end();
    free(t.values);
}

static uint64_t room(void)
{
    return (mebibytes << 20) / 100 * (layout == 2 ? 1000 : 101);
}

const struct benchmark benchmark = {
    .what =
            "Looks up keys in a filter that is not in the page cache, each in a page of its own.\n",
    .options = {
        OPTION_NUMBER("mib", &mebibytes, 1024, 0, 64, 65536, "MiB of the filter"),
        OPTION_NUMBER("keys", &keys, 2000, 0, 1, MAX_KEYS, "keys"),
        OPTION_NUMBER("turns", &turns, 5, 0, 1, 101, "turns"),
        OPTION_WORD("layout", &layout, layouts, "of the filter; blocked"),
    },
    .room = room,
    .run = run,
};
