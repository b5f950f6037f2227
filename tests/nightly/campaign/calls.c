/* SPDX-License-Identifier: MIT
 * campaign-calls CALL [PROCESS] <told
 *
 * campaign-calls --list
 *
 * Makes a call of the library that writes (table below) in a folder with the necessary files.
 * So another program can kill it or make a system call fail. It calls getppid() right before and
 * after. Its results go to standard input, a mapped file of the size of struct told, so that a
 * kill does not undo them. Exits with 0, or with 1 and a message if the call fails. PROCESS: the
 * number of a process, from 0, if several run; each has its own keys. */
#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../unit/places.h"

enum {
    KEYS = 120, /* keys that a process adds; the keys of process p begin after KEYS * (p + 1) */
    GO = 40,    /* adds between syncs */
    REMOVED = KEYS / 4,
    DESCRIPTORS = 24,
    CANNOT = 3
};

static struct told {
    atomic_uint done;  /* keys added when their call returned, or whose removal has begun */
    atomic_uint ended; /* the call returned, and the fields below are set */
    int error;
    int descriptors; /* additional open descriptors */
    int64_t memory;  /* additional allocated blocks */
} * told;

static unsigned process;
static bloomfile_filter *sources[2], *writer, *made;
static bloomfile_builder *builder;
static int patch = -1;
static struct bloomfile_params params = { .struct_size = sizeof params };

static void must(int error, const char *what)
{
    if (error != 0)
        errx(CANNOT, "%s: %s", what, bloomfile_strerror(error));
}

static size_t key(char room[16], unsigned i)
{
    return (size_t)snprintf(room, 16, "%u", KEYS * (process + 1) + 1 + i);
}

/* ---- files and handles that calls need */

static void open_source(size_t i, const char *path)
{
    must(bloomfile_open(&sources[i], path, 0), path);
}

static void need_nothing(void)
{
}

static void need_builder(void)
{
    char room[16];
    params.bits = 1 << 17;
    params.hashes = 5;
    params.spool = ".";
    must(bloomfile_builder_new(&builder, &params), "builder");
    for (unsigned i = 0; i < KEYS; i++)
        must(bloomfile_builder_add(builder, room, key(room, i)), "add");
}

static void need_two(void)
{
    open_source(0, "a");
    open_source(1, "b");
}

static void need_slices(void)
{
    open_source(0, "s0");
    open_source(1, "s1");
}

static void need_counting(void)
{
    open_source(0, "counting");
}

static void need_live(void)
{
    open_source(0, "live");
}

static void need_series(void)
{
    open_source(0, "grow");
}

static void need_patch(void)
{
    open_source(0, "a");
    patch = open("patch", O_RDONLY | O_CLOEXEC);
    if (patch < 0)
        err(CANNOT, "patch");
}

static void write_to(const char *path, unsigned flags)
{
    must(
        bloomfile_open(&writer, path, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN | flags),
        path);
}

static void need_writer(void)
{
    write_to("live", 0);
}

static void need_exact_writer(void)
{
    write_to("live", BLOOMFILE_OPEN_ADD_EXACT);
}

static void need_counting_writer(void)
{
    write_to("live-counting", 0);
}

static void need_series_writer(void)
{
    write_to("grow", 0);
}

static void need_generations_writer(void)
{
    write_to("generations", 0);
}

static int add(void);

static void need_added(void)
{
    need_writer();
    must(add(), "add");
}

/* ---- the calls */

static int builder_write(void)
{
    return bloomfile_builder_write(builder, TO_PATH("out", 0));
}

static int builder_replace(void)
{
    return bloomfile_builder_write(builder, TO_PATH("out", BLOOMFILE_TO_REPLACE));
}

static int builder_write_fd(void)
{
    return bloomfile_builder_write(builder, TO_FD(STDOUT_FILENO, NULL));
}

static int create_live(const char *path, unsigned flags)
{
    params.capacity = KEYS;
    int error = bloomfile_create(&made, path, &params, flags);
    return error;
}

static int create(void)
{
    return create_live("out", 0);
}

static int create_replace(void)
{
    return create_live("out", BLOOMFILE_TO_REPLACE);
}

static int create_series(void)
{
    params.series = BLOOMFILE_SERIES_GROW;
    return create_live("out", 0);
}

static int create_memory(void)
{
    params.capacity = KEYS;
    return bloomfile_create_memory(&made, &params, 0);
}

/* every: adds between two syncs; 0: no sync. */
static int add_all(unsigned every)
{
    char room[16];
    int error = 0;
    for (unsigned i = 0; i < KEYS && error == 0; i++) {
        error = bloomfile_add(writer, room, key(room, i), NULL);
        if (error == 0)
            atomic_store(&told->done, i + 1);
        if (error == 0 && every > 0 && i % every == every - 1)
            error = bloomfile_sync(writer, NULL);
    }
    return error;
}

static int add(void)
{
    return add_all(0);
}

static int add_and_sync(void)
{
    return add_all(GO);
}

static int add_many(void)
{
    char room[KEYS][16];
    struct bloomfile_key keys[KEYS];
    for (unsigned i = 0; i < KEYS; i++)
        keys[i] = (struct bloomfile_key){ room[i], key(room[i], i) };
    int error = bloomfile_add_many(writer, keys, KEYS, NULL, NULL, NULL);
    if (error == 0)
        atomic_store(&told->done, KEYS);
    return error;
}

/* Removes keys that are present. */
static int take_back(void)
{
    char room[16];
    int error = 0;
    for (unsigned i = 0; i < REMOVED && error == 0; i++) {
        atomic_store(&told->done, i + 1);
        error = bloomfile_remove(
            writer, room, (size_t)snprintf(room, sizeof room, "%u", REMOVED * process + i + 1));
    }
    return error;
}

static int sync_it(void)
{
    return bloomfile_sync(writer, NULL);
}

static int finish(void)
{
    return bloomfile_finish(writer);
}

static int close_it(void)
{
    bloomfile_close(writer);
    writer = NULL;
    return 0;
}

static int open_to_write(void)
{
    return bloomfile_open(&made, "live", BLOOMFILE_OPEN_WRITE);
}

static int seal(void)
{
    return bloomfile_seal(writer, NULL);
}

static int copy_sealed(void)
{
    return bloomfile_copy_sealed(TO_PATH("out", 0), sources[0], NULL);
}

static int copy_sealed_replace(void)
{
    return bloomfile_copy_sealed(TO_PATH("out", BLOOMFILE_TO_REPLACE), sources[0], NULL);
}

static int copy_sealed_fd(void)
{
    return bloomfile_copy_sealed(TO_FD(STDOUT_FILENO, "."), sources[0], NULL);
}

static int rescue(void)
{
    return bloomfile_rescue("out", sources[0], 0);
}

static int rescue_replace(void)
{
    return bloomfile_rescue("out", sources[0], BLOOMFILE_TO_REPLACE);
}

static int fold(void)
{
    return bloomfile_fold(TO_PATH("out", 0), sources[0], 4, NULL);
}

static int fold_fd(void)
{
    return bloomfile_fold(TO_FD(STDOUT_FILENO, "."), sources[0], 4, NULL);
}

static const bloomfile_filter *const *both(void)
{
    return (const bloomfile_filter *const *)sources;
}

static int merge(void)
{
    return bloomfile_merge(TO_PATH("out", 0), both(), 2, NULL);
}

/* Replaces a source. */
static int merge_replace(void)
{
    return bloomfile_merge(TO_PATH("a", BLOOMFILE_TO_REPLACE), both(), 2, NULL);
}

static int merge_fd(void)
{
    return bloomfile_merge(TO_FD(STDOUT_FILENO, "."), both(), 2, NULL);
}

static int project(void)
{
    return bloomfile_project(TO_PATH("out", 0), sources[0], NULL);
}

static int project_fd(void)
{
    return bloomfile_project(TO_FD(STDOUT_FILENO, "."), sources[0], NULL);
}

static int join(void)
{
    return bloomfile_join(TO_PATH("out", 0), both(), 2, NULL, 0);
}

static int join_fd(void)
{
    return bloomfile_join(TO_FD(STDOUT_FILENO, "."), both(), 2, NULL, 0);
}

static const void *body_to_assemble(size_t *size)
{
    const void *body = bloomfile_body(sources[0], size);
    params.bits = 8 * (uint64_t)*size;
    params.hashes = 5;
    return body;
}

static int assemble(void)
{
    size_t size;
    const void *body = body_to_assemble(&size);
    return bloomfile_assemble(TO_PATH("out", 0), &params, body, size, 0, KEYS);
}

static int assemble_fd(void)
{
    size_t size;
    const void *body = body_to_assemble(&size);
    return bloomfile_assemble(TO_FD(STDOUT_FILENO, "."), &params, body, size, 0, KEYS);
}

static int delta(void)
{
    return bloomfile_delta(TO_PATH("out", 0), sources[0], sources[1], 1);
}

static int delta_fd(void)
{
    return bloomfile_delta(TO_FD(STDOUT_FILENO, "."), sources[0], sources[1], 1);
}

static int apply(void)
{
    return lseek(patch, 0, SEEK_SET) != 0
               ? errno
               : bloomfile_patch(TO_PATH("out", 0), sources[0], FROM_FD(patch), 1);
}

/* Replaces its base. */
static int apply_replace(void)
{
    return lseek(patch, 0, SEEK_SET) != 0
               ? errno
               : bloomfile_patch(TO_PATH("a", BLOOMFILE_TO_REPLACE), sources[0], FROM_FD(patch), 1);
}

static int apply_fd(void)
{
    return lseek(patch, 0, SEEK_SET) != 0
               ? errno
               : bloomfile_patch(TO_FD(STDOUT_FILENO, "."), sources[0], FROM_FD(patch), 1);
}

static const struct call {
    const char *name;
    void (*need)(void);
    int (*make)(void);
} calls[] = {
    { "builder_write", need_builder, builder_write },
    { "builder_write replace", need_builder, builder_replace },
    { "builder_write_fd", need_builder, builder_write_fd },
    { "create", need_nothing, create },
    { "create replace", need_nothing, create_replace },
    { "create series", need_nothing, create_series },
    { "create_memory", need_nothing, create_memory },
    { "open to write", need_nothing, open_to_write },
    { "add", need_writer, add },
    { "add exact", need_exact_writer, add },
    { "add sync", need_writer, add_and_sync },
    { "add_many", need_writer, add_many },
    { "add counting", need_counting_writer, add },
    { "add series", need_series_writer, add },
    { "add generations", need_generations_writer, add },
    { "remove", need_counting_writer, take_back },
    { "sync", need_added, sync_it },
    { "finish", need_added, finish },
    { "close", need_added, close_it },
    { "seal", need_added, seal },
    { "copy_sealed", need_live, copy_sealed },
    { "copy_sealed replace", need_live, copy_sealed_replace },
    { "copy_sealed series", need_series, copy_sealed },
    { "copy_sealed_fd", need_live, copy_sealed_fd },
    { "rescue", need_live, rescue },
    { "rescue series", need_series, rescue },
    { "rescue series replace", need_series, rescue_replace },
    { "fold", need_two, fold },
    { "fold_fd", need_two, fold_fd },
    { "merge", need_two, merge },
    { "merge replace", need_two, merge_replace },
    { "merge_fd", need_two, merge_fd },
    { "project", need_counting, project },
    { "project_fd", need_counting, project_fd },
    { "join", need_slices, join },
    { "join_fd", need_slices, join_fd },
    { "assemble", need_two, assemble },
    { "assemble_fd", need_two, assemble_fd },
    { "delta", need_two, delta },
    { "delta_fd", need_two, delta_fd },
    { "patch", need_patch, apply },
    { "patch replace", need_patch, apply_replace },
    { "patch_fd", need_patch, apply_fd },
};

#define CALLS (sizeof calls / sizeof *calls)

/* ---- main */

static int open_descriptors(void)
{
    int open = 0;
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    return open;
}

/* From campaign-nomem, if it is loaded. */
extern long campaign_blocks(void) __attribute__((weak));

static long memory(void)
{
    return campaign_blocks == NULL ? 0 : campaign_blocks();
}

static void let_go(void)
{
    bloomfile_close(sources[0]);
    bloomfile_close(sources[1]);
    bloomfile_close(writer);
    bloomfile_close(made);
    bloomfile_builder_free(builder);
    if (patch >= 0)
        close(patch);
}

static int make(const struct call *call)
{
    const int descriptors = open_descriptors();
    const long blocks = memory();
    call->need();
    getppid();
    const int error = call->make();
    getppid();
    let_go();
    told->error = error;
    told->descriptors = open_descriptors() - descriptors;
    told->memory = memory() - blocks;
    atomic_store(&told->ended, 1);
    if (error != 0)
        errx(1, "%s: %s", call->name, bloomfile_strerror(error));
    return 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--list") == 0) {
        for (size_t i = 0; i < CALLS; i++)
            puts(calls[i].name);
        return 0;
    }
    signal(SIGXFSZ, SIG_IGN); /* so that writes return EFBIG, as in a program with limits */
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, STDIN_FILENO, 0);
    if (told == MAP_FAILED)
        err(CANNOT, "standard input");
    process = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    for (size_t i = 0; i < CALLS; i++)
        if (strcmp(name, calls[i].name) == 0)
            return make(&calls[i]);
    errx(CANNOT, "no call '%s'", name);
}
