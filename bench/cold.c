/* SPDX-License-Identifier: MIT
 *
 * bench-cold - what lookups in a filter cost that is not in memory
 *
 * Before each row the file is dropped from the page cache, and mincore() must say so. Each key lies
 * in a page of its own. What was read is told by mincore(), in pages of the file that are in the
 * page cache afterwards, and by /proc/self/io, in bytes that came from the disk.
 */
#include <bloomfile_combine.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "options.h"
#include "residence.h"
#include "scratch.h"

#define SIZE         1024 /* MiB */
#define LEAST_SIZE   64
#define MAX_SIZE     65536
#define KEYS         2000
#define MAX_KEYS     100000
#define TURNS        5
#define MAX_TURNS    101
#define PAGE         4096
#define BLOCK        64
#define HEADER_PAGES 4 /* the kernel reads that far ahead from the beginning of a file */

static const char help[] =
    "usage: bench-cold [--mib N] [--keys N] [--turns N] [DIRECTORY]\n"
    "Look up N keys (2000) in a filter of N MiB (1024; 64 to 65536) in DIRECTORY ($TMPDIR or\n"
    "/var/tmp) that is not in the page cache, N times (5), and print what that takes, in "
    "Markdown.\n"
    "The exit status is 1 if more is read than is needed.\n";

static const char path[] = "filter.bloom";

static struct {
    uint64_t pages, blocks; /* of the body */
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
    return (uint64_t)((uint128)digest * subject.blocks >> 64) * BLOCK / PAGE;
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

static const struct row {
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

static void measure(const struct row *row, double figures[FIGURES])
{
    int error;
    bloomfile *f;
    drop();
    const uint64_t read_before = residence_read_bytes();
    const double start = bench_seconds();
    bench_check(bloomfile_open(&f, path, row->flags), "open the filter");
    row->look_up(f);
    figures[MS] = (bench_seconds() - start) * 1e3;
    figures[READ] = (double)(residence_read_bytes() - read_before) / PAGE;
    figures[CACHED] = (double)residence_pages(path, &error);
    bench_check(error, "find out what is in the page cache");
    bench_check(bloomfile_status(f), "trust the filter");
    bloomfile_close(f);
}

/* ---- the subject */

static void make_filter(size_t size)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.bits = (uint64_t)size * 8;
    params.hashes = 6;
    params.capacity = params.bits / 10;
    uint8_t *body = bench_random_bytes(size);
    bench_check(bloomfile_assemble(path, &params, body, 0, params.capacity, 0), "make a filter");
    free(body);
    subject.pages = size / PAGE;
    subject.blocks = size / BLOCK;
}

/* Keys in pages of their own, none of them beside the header, in no order. */
static void choose_keys(size_t count)
{
    uint8_t *taken = calloc(subject.pages, 1), *checksums_taken = calloc(subject.pages, 1);
    if (taken == NULL || checksums_taken == NULL)
        bench_fail(ENOMEM, "get memory for keys");
    for (uint64_t key = 0; subject.keys < count; key++) {
        bloomfile_digest digest;
        bench_digests(0, (1ULL << 60) + key, &digest, 1);
        const uint64_t page = page_of(digest);
        if (page < HEADER_PAGES || taken[page]++ != 0)
            continue;
        subject.digests[subject.keys++] = digest;
        subject.checksum_pages += checksums_taken[page * 4 / PAGE]++ == 0;
    }
    free(taken);
    free(checksums_taken);
}

static bool compare(unsigned turns)
{
    static double values[ROWS][FIGURES][MAX_TURNS];
    bool good = true;
    for (unsigned turn = 0; turn < turns; turn++) {
        for (unsigned i = 0; i < ROWS; i++) {
            double figures[FIGURES];
            measure(&rows[i], figures);
            for (unsigned j = 0; j < FIGURES; j++)
                values[i][j][turn] = figures[j];
        }
    }
    puts(
        "|                                     |        ms | us a key | pages cached | pages read "
        "| "
        "most allowed | verdict |\n"
        "|-------------------------------------|----------:|---------:|-------------:|-----------:|"
        "-------------:|---------|");
    for (unsigned i = 0; i < ROWS; i++) {
        const double ms = bench_median(values[i][MS], turns);
        const double cached = bench_median(values[i][CACHED], turns);
        const double read = bench_median(values[i][READ], turns);
        const size_t allowed =
            subject.keys + HEADER_PAGES + ((rows[i].flags & NOT) != 0 ? 0 : subject.checksum_pages);
        const bool kept = cached <= (double)allowed && read <= (double)allowed;
        printf("| %-35s | %9.1f | %8.1f | %12.0f | %10.0f |", rows[i].name, ms,
               ms * 1e3 / (double)subject.keys, cached, read);
        if (rows[i].judged)
            printf(" %12zu | %-7s |\n", allowed, kept ? "ok" : "MISSED");
        else
            puts("              |         |");
        good &= kept || !rows[i].judged;
    }
    return good;
}

int main(int argc, char **argv)
{
    uint64_t size, keys, turns;
    const struct bench_option options[] = {
        { "mib", &size, SIZE, 0, LEAST_SIZE, MAX_SIZE },
        { "keys", &keys, KEYS, 0, 1, MAX_KEYS },
        { "turns", &turns, TURNS, 0, 1, MAX_TURNS },
    };
    const char *where =
        bench_options(argc, argv, help, options, sizeof options / sizeof options[0]);
    if (keys > (size << 20) / PAGE / 2)
        bench_fail(0, "find as many pages: at most one in two can have a key");
    scratch_make(where, "bench-cold", (size << 20) / 100 * 101);
    scratch_enter();
    make_filter((size_t)size << 20);
    choose_keys((size_t)keys);
    printf("%" PRIu64 " keys in a filter of %" PRIu64 " MiB; medians of %" PRIu64 " turns\n\n",
           keys, size, turns);
    const bool good = compare((unsigned)turns);
    bench_flush();
    return good ? 0 : BENCH_MISSED;
}
