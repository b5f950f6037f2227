/* SPDX-License-Identifier: MIT
 *
 * bench-open - opening a filter beside the least that any reader of a mapped file does, in many
 * short turns
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/program.h"
#include "harness/turns.h"

#define BITS           (1ULL << 33)
#define KEYS           4000000
#define TURNS          1501
#define OPENS          20
#define TOLERATED_OPEN 2.0

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

static void open_by_library(void)
{
    bloomfile_close(bench_open(file, 0));
}

static void open_and_look_up(void)
{
    bloomfile *f = bench_open(file, 0);
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

static const struct {
    const char *name;
    void (*once)(void);
} ways[] = {
    { "open, fstat, mmap, touch one page, munmap, close", open_bare },
    { "bloomfile_open, bloomfile_close", open_by_library },
    { "the same with one lookup, which checks its page", open_and_look_up },
};

enum {
    BARE,
    LIBRARY,
    WAYS = sizeof ways / sizeof ways[0]
};

static void measure(size_t way, double *microseconds)
{
    const double start = bench_seconds();
    for (int i = 0; i < OPENS; i++)
        ways[way].once();
    *microseconds = (bench_seconds() - start) / OPENS * 1e6;
}

static void compare_opening(void)
{
    struct turns t = turns_take(WAYS, 1, TURNS, measure);
    table_start("opening and closing, a body of 1 GiB|>median us|>ratio|target|verdict");
    for (size_t i = 0; i < WAYS; i++) {
        const double ratio = turns_ratio(&t, i, BARE, 0);
        table_cells("%s|%.2f|%.4f|", ways[i].name, turns_median(&t, i, 0), ratio);
        if (i == LIBRARY)
            table_row("<= %g|%s", TOLERATED_OPEN, table_verdict(ratio <= TOLERATED_OPEN));
        else
            table_row("|");
    }
    table_end();
    free(t.values);
}

static void run(void)
{
    create_file();
    compare_opening();
}

static uint64_t room(void)
{
    return BITS / 8 + (8 << 20);
}

const struct benchmark benchmark = {
    .what = "Opens a filter of 1 GiB again and again.\n",
    .room = room,
    .run = run,
};
