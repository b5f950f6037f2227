/* SPDX-License-Identifier: MIT
 *
 * bench-open - what opening a filter costs, and how much memory its readers share
 *
 * Opening: the library's open and close beside the least that any reader of a mapped file does:
 * open, fstat, mmap, touch one page, munmap, close. They run in short turns, many times, so that a
 * busy machine slows all alike; the ratio is the median of the ratios of the turns.
 *
 * Sharing: processes open the same file and look up a key in every page of its body. While all are
 * alive, the proportional set size (PSS) counts each page once, however many processes map it.
 */
#include <bloomfile_inspect.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "pss.h"
#include "scratch.h"

#define BITS            (1ULL << 33)
#define KEYS            4000000
#define TURNS           1501
#define OPENS           20
#define READERS         8
#define TOLERATED_OPEN  2.0
#define TOLERATED_SHARE 1.02

static const char file[] = "1GiB.bloom";

static void create_file(void)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    params.bits = BITS;
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    bench_add_keys(builder, params.seed, 0, KEYS);
    bench_check(bloomfile_builder_finish(builder, file, 0), "create a filter");
    bloomfile_builder_free(builder);
}

static void head(const char *what, const char *unit, const char *ratio)
{
    printf("| %-48s | %9s | %7s | target  | verdict |\n", what, unit, ratio);
    puts("|--------------------------------------------------|----------:|--------:|---------|"
         "---------|");
}

static void row(const char *what, double value, double ratio, const char *target,
                const char *verdict)
{
    printf("| %-48s | %9.2f | %7.4f | %-7s | %-7s |\n", what, value, ratio, target, verdict);
}

/* ---- opening */

static void open_by_library(void)
{
    bloomfile *f;
    bench_check(bloomfile_open(&f, file, 0), "open the filter");
    bloomfile_close(f);
}

static void open_and_look_up(void)
{
    bloomfile *f;
    bench_check(bloomfile_open(&f, file, 0), "open the filter");
    if (!bloomfile_contains_digest(f, bloomfile_hash(0, &(uint64_t){ 0 }, sizeof(uint64_t))))
        bench_fail(0, "find the first key");
    bloomfile_close(f);
}

static void open_bare(void)
{
    struct stat status;
    int fd = bench_call(open(file, O_RDONLY | O_CLOEXEC), "open the file");
    bench_call(fstat(fd, &status), "fstat the file");
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        bench_fail(errno, "map the file");
    (void)*(const volatile char *)bytes;
    bench_call(munmap(bytes, (size_t)status.st_size), "unmap the file");
    bench_call(close(fd), "close the file");
}

static double microseconds(void (*once)(void))
{
    double start = bench_seconds();
    for (int i = 0; i < OPENS; i++)
        once();
    return (bench_seconds() - start) / OPENS * 1e6;
}

static bool compare_opening(void)
{
    static double bare[TURNS], library[TURNS], lookup[TURNS], ratio[TURNS], lookup_ratio[TURNS];
    for (int i = 0; i < TURNS; i++) {
        bare[i] = microseconds(open_bare);
        library[i] = microseconds(open_by_library);
        lookup[i] = microseconds(open_and_look_up);
        ratio[i] = library[i] / bare[i];
        lookup_ratio[i] = lookup[i] / bare[i];
    }
    const double times = bench_median(ratio, TURNS);
    const bool good = times <= TOLERATED_OPEN;
    head("opening and closing, a body of 1 GiB", "median us", "ratio");
    row("open, fstat, mmap, touch one page, munmap, close", bench_median(bare, TURNS), 1, "", "");
    row("bloomfile_open, bloomfile_close", bench_median(library, TURNS), times, "<= 2",
        good ? "ok" : "MISSED");
    row("the same with one lookup, which checks its page", bench_median(lookup, TURNS),
        bench_median(lookup_ratio, TURNS), "", "");
    puts("");
    return good;
}

/* ---- sharing */

/* Looks up a key in every page, writes a byte to `ready`, lives on until `stay` ends. */
static void read_everywhere(int ready, int stay)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile *f;
    char byte = 0;
    bench_check(bloomfile_open(&f, file, 0), "open the filter");
    bloomfile_get_info(f, &info);
    const uint64_t step = UINT64_MAX / info.pages; /* a digest's top bits choose its place */
    for (uint64_t page = 0; page < info.pages; page++)
        bloomfile_contains_digest(f, step * page + step / 2);
    bench_check(bloomfile_status(f), "trust the filter");
    bench_call((int)write(ready, &byte, 1), "report to the parent");
    close(ready);
    bench_call((int)read(stay, &byte, 1), "wait for the parent");
    bloomfile_close(f);
}

/* Starts the readers and returns when all have read everything. */
static void start_readers(pid_t readers[READERS], int *stay)
{
    int ready[2], end[2];
    char byte;
    bench_call(pipe(ready), "make a pipe");
    bench_call(pipe(end), "make a pipe");
    bench_flush();
    for (int i = 0; i < READERS; i++) {
        readers[i] = bench_call(fork(), "fork");
        if (readers[i] == 0) {
            close(ready[0]);
            close(end[1]);
            read_everywhere(ready[1], end[0]);
            _exit(0);
        }
    }
    close(ready[1]);
    close(end[0]);
    for (int i = 0; i < READERS; i++)
        if (read(ready[0], &byte, 1) != 1)
            bench_fail(0, "go on: a reader ended early");
    close(ready[0]);
    *stay = end[1];
}

static uint64_t body_size(void)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile *f;
    bench_check(bloomfile_open(&f, file, 0), "open the filter");
    bloomfile_get_info(f, &info);
    bloomfile_close(f);
    return info.body_size;
}

static bool compare_sharing(void)
{
    const double body = (double)body_size();
    pid_t readers[READERS];
    int stay;
    struct pss all = { 0 };
    start_readers(readers, &stay);
    for (int i = 0; i < READERS; i++)
        pss_add(&all, readers[i], file);
    close(stay);
    for (int i = 0, status; i < READERS; i++) {
        bench_call(waitpid(readers[i], &status, 0), "wait for a reader");
        if (status != 0)
            bench_fail(0, "trust a reader that failed");
    }

    const double share = (double)all.mapping / body;
    const bool everything = (double)all.mapping_resident >= READERS * body;
    const bool good = share <= TOLERATED_SHARE;
    head("8 processes that read all of it, summed", "MiB", "of body");
    row("resident in their mappings of the file, RSS", (double)all.mapping_resident / 0x1p20,
        (double)all.mapping_resident / body, ">= 8", everything ? "ok" : "MISSED");
    row("their mappings of the file, PSS", (double)all.mapping / 0x1p20, share, "<= 1.02",
        good ? "ok" : "MISSED");
    row("everything else in the processes, PSS", (double)all.rest / 0x1p20, (double)all.rest / body,
        "", "");
    return good && everything;
}

int main(int argc, char **argv)
{
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fputs("usage: bench-open [DIRECTORY]\n"
              "A filter of 1 GiB is made in DIRECTORY ($TMPDIR or /var/tmp) and removed at the "
              "end.\n",
              stderr);
        return BENCH_TROUBLE;
    }
    scratch_make(argc == 2 ? argv[1] : NULL, "bench-open", BITS / 8 + (8 << 20));
    scratch_enter();
    create_file();
    bool good = compare_opening();
    good &= compare_sharing();
    bench_flush();
    return good ? 0 : BENCH_MISSED;
}
