/* SPDX-License-Identifier: MIT
 *
 * bench-open - what opening a filter costs, and how much memory its readers share
 *
 * Opening: the library's open and close beside the least that any reader of a mapped file does:
 * open, fstat, mmap, touch one page, munmap, close, in many short turns.
 *
 * Sharing: processes open the same file and look up a key in every page of its body. While all are
 * alive, the proportional set size (PSS) counts each page once, however many processes map it.
 */
#include <bloomfile_inspect.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/crew.h"
#include "harness/program.h"
#include "harness/turns.h"

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

/* ---- opening */

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

/* ---- sharing */

/* From Linux' /proc/PID/smaps. A page that several processes map counts in the proportional set
 * size (PSS) of each by its share. */
struct pss {                   /* bytes */
    uint64_t mapping;          /* PSS of the mappings of the file */
    uint64_t mapping_resident; /* their RSS */
    uint64_t rest;             /* PSS of all other mappings */
};

/* "start-end permissions offset device inode   path" begins the entry of a mapping; lines such as
 * "Pss:   12 kB" follow. */
static bool begins_entry(const char *line)
{
    uint64_t start, end;
    return sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2;
}

static bool names_file(const char *line, const char *path)
{
    const char *name = strchr(line, '/');
    return name != NULL && strncmp(name, path, strlen(path)) == 0 &&
           strcmp(name + strlen(path), "\n") == 0;
}

/* Adds what a process has mapped. */
static void pss_add(struct pss *sum, pid_t pid)
{
    char name[64], *path = realpath(file, NULL), *line = NULL;
    size_t size = 0;
    snprintf(name, sizeof name, "/proc/%ld/smaps", (long)pid);
    FILE *smaps = fopen(name, "r");
    if (path == NULL || smaps == NULL)
        bench_fail(errno, "look into a process");

    bool of_file = false;
    while (getline(&line, &size, smaps) != -1) {
        uint64_t kib;
        if (begins_entry(line))
            of_file = names_file(line, path);
        else if (sscanf(line, "Pss: %" SCNu64 " kB", &kib) == 1)
            *(of_file ? &sum->mapping : &sum->rest) += 1024 * kib;
        else if (of_file && sscanf(line, "Rss: %" SCNu64 " kB", &kib) == 1)
            sum->mapping_resident += 1024 * kib;
    }
    if (ferror(smaps))
        bench_fail(errno, "look into a process");
    fclose(smaps);
    free(line);
    free(path);
}

/* Of a crew: the readers, and one that looks at them when all have read everything. */
struct sharing {
    bloomfile *f;
    struct sharing_shared {
        pid_t readers[READERS];
        struct pss all;
        atomic_bool over;
    } * shared;
};

/* Looks up a key in every page. */
static void read_everywhere(void *context, unsigned worker)
{
    struct sharing *s = context;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    if (worker == READERS)
        return;
    s->shared->readers[worker] = getpid();
    s->f = bench_open(file, 0);
    bloomfile_get_info(s->f, &info);
    const uint64_t step = UINT64_MAX / info.pages; /* a digest's top bits choose its place */
    for (uint64_t page = 0; page < info.pages; page++)
        bloomfile_contains_digest(s->f, step * page + step / 2);
    bench_check(bloomfile_status(s->f), "trust the filter");
}

static void look_at_readers(void *context, unsigned worker)
{
    struct sharing *s = context;
    for (unsigned i = 0; worker == READERS && i < READERS; i++)
        pss_add(&s->shared->all, s->shared->readers[i]);
    if (worker == READERS)
        atomic_store(&s->shared->over, true);
    while (!atomic_load(&s->shared->over))
        usleep(1000);
}

static void leave(void *context, unsigned worker)
{
    (void)worker;
    bloomfile_close(((struct sharing *)context)->f);
}

static void sharing_row(const char *name, uint64_t bytes, const char *target, const char *verdict)
{
    table_row("%s|%.2f|%.4f|%s|%s", name, (double)bytes / 0x1p20, (double)bytes / (BITS / 8),
              target, verdict);
}

static void compare_sharing(void)
{
    struct sharing s = { NULL, crew_memory(sizeof *s.shared) };
    const struct crew crew = { READERS + 1, true, read_everywhere, look_at_readers, leave, &s };
    crew_run(&crew);
    const struct pss *all = &s.shared->all;
    table_start("8 processes that read all of it, summed|>MiB|>of body|target|verdict");
    sharing_row("resident in their mappings of the file, RSS", all->mapping_resident, ">= 8",
                table_verdict(all->mapping_resident >= READERS * (BITS / 8)));
    sharing_row("their mappings of the file, PSS", all->mapping, "<= 1.02",
                table_verdict((double)all->mapping <= TOLERATED_SHARE * (BITS / 8)));
    sharing_row("everything else in the processes, PSS", all->rest, "", "");
    table_end();
    crew_memory_free(s.shared, sizeof *s.shared);
}

static void run(void)
{
    create_file();
    compare_opening();
    compare_sharing();
}

static uint64_t room(void)
{
    return BITS / 8 + (8 << 20);
}

const struct benchmark benchmark = {
    .what = "Opens a filter of 1 GiB again and again, and in 8 processes.\n",
    .room = room,
    .run = run,
};
