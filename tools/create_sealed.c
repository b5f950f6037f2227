/* SPDX-License-Identifier: MIT */
#include "cli.h"
#include "create.h"
#include "feed.h"
#include "say.h"
#include "target.h"
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_THREADS 16u /* at most */
#define MIB             (1u << 20)
#define PROGRAM_MEMORY  (4 * MIB) /* code, libraries and stacks */

static const char output[] = "standard output";

static const char *name_of(const struct create *c)
{
    return c->path != NULL ? c->path : output;
}

_Noreturn static void cannot_make(const struct create *c, int error)
{
    if (c->path != NULL)
        say_cannot_create(c->path, error);
    cli_fail(error, "cannot make the filter");
}

/* -------------------------------------------------------------- what is known before any key is */

/* Whether the filter would go into one of the files that the keys are from. */
static bool is_an_input(const struct create *c, const char *path)
{
    bool same = c->inputs_count == 0 && target_is_same_file(path, "-");
    for (int i = 0; i < c->inputs_count; i++)
        same = same || target_is_same_file(path, c->inputs[i]);
    return same;
}

static void check_file(const struct create *c)
{
    target_check(c->path, c->force);
    if (is_an_input(c, c->path))
        cli_fail(0, "cannot create %s: it is a file to read keys from", c->path);
}

static void check_standard_output(const struct create *c)
{
    struct stat st;
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (isatty(STDOUT_FILENO))
        cli_usage("a filter is not written to a terminal");
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        cli_fail(EBADF, "cannot write to %s", output);
    if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) && is_an_input(c, "/dev/stdout"))
        cli_fail(0, "cannot write to %s: it is a file to read keys from", output);
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is an error like a full disk */
}

static void check_size(const struct create *c)
{
    const struct bloomfile_params *p = &c->params;
    uint64_t keys = p->capacity > 0 ? p->capacity : 1;
    double fpr = p->fpr > 0 ? p->fpr : CREATE_DEFAULT_FPR;
    if (p->bits == 0 && bloomfile_bits_for(p->layout, keys, fpr, p->hashes) == 0)
        cannot_make(c, BLOOMFILE_EUNREACHABLE);
}

/* ----------------------------------------------------------------------------- what it may take */

static uint32_t default_threads(void)
{
    cpu_set_t set;
    unsigned n = DEFAULT_THREADS;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        n = (unsigned)CPU_COUNT(&set);
    return n < DEFAULT_THREADS ? n : DEFAULT_THREADS;
}

/* A quarter of what the machine has. */
static uint64_t default_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t quarter = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 4 : 0;
    return quarter > CREATE_LEAST_MEMORY ? quarter : CREATE_LEAST_MEMORY;
}

/* Shares it out: each thread has a piece of the input, and perhaps the beginning of a key longer
 * than that; the builder gets the rest. */
static void share_memory(const struct create *c, struct bloomfile_params *params,
                         struct keys_options *keys)
{
    uint64_t memory = c->memory > 0 ? c->memory : default_memory();
    uint64_t threads = c->threads > 0 ? c->threads : default_threads();
    if (threads > memory / MIB)
        threads = memory / MIB;
    uint64_t piece = memory / threads / 16;
    if (piece > MIB)
        piece = MIB;
    keys->piece_size = (size_t)piece;
    params->threads = (uint32_t)threads;
    params->memory = memory - PROGRAM_MEMORY - 2 * threads * piece;
}

/* The folder of the file that is to be, for temporary files; the caller frees it. */
static char *folder_of(const char *path)
{
    char *file = realpath(path, NULL);
    if (file == NULL)
        file = strdup(path);
    const char *folder = file != NULL ? dirname(file) : NULL;
    if (folder == NULL)
        say_cannot_create(path, ENOMEM);
    memmove(file, folder, strlen(folder) + 1);
    return file;
}

static const char *spool_of(const struct bloomfile_params *params)
{
    return params->spool != NULL ? params->spool : temporary_folder();
}

/* -------------------------------------------------------------------------------------- making */

static uint64_t read_keys(const struct create *c, const struct bloomfile_params *params,
                          const struct keys_options *keys, bloomfile_builder *builder)
{
    uint64_t count;
    int error = feed_builder(builder,
                             &(struct feed_options){ .keys = *keys,
                                                     .inputs = c->inputs,
                                                     .inputs_count = c->inputs_count,
                                                     .seed = params->seed,
                                                     .threads = params->threads,
                                                     .quiet = c->quiet },
                             &count);
    if (error == ENOMEM)
        cli_fail(ENOMEM, "cannot hold more than %" PRIu64 " keys", count);
    if (error != 0)
        cli_fail(0, "cannot write a temporary file in the folder %s: %s (more --memory needs less)",
                 spool_of(params), bloomfile_strerror(error));
    return count;
}

static void publish(const struct create *c, bloomfile_builder *builder)
{
    unsigned flags = c->path == NULL ? BLOOMFILE_TO_FD(STDOUT_FILENO)
                     : c->force      ? BLOOMFILE_REPLACE
                                     : 0;
    struct cli_progress progress = { .doing = "building the filter ...",
                                     .shown_ns = c->quiet ? -1 : 0 };
    cli_progress_step(&progress);
    int error = bloomfile_builder_finish(builder, c->path, flags);
    if (error == ENOSPC && c->path == NULL)
        cli_fail(ENOSPC, "cannot write to %s, or to a temporary file in %s", output,
                 spool_of(&c->params));
    if (error != 0 && c->path == NULL)
        cli_fail(error, "cannot write the filter to %s", output);
    if (error != 0)
        say_cannot_create(c->path, error);
    cli_progress_end(&progress);
}

/* ---------------------------------------------------------------------------------- what it is */

/* Opens the new file as any reader would. */
static void inspect_file(const char *path, struct bloomfile_info *info)
{
    bloomfile *f;
    int error = bloomfile_open(&f, path, 0);
    if (error != 0)
        cli_fail(error, "%s is written, but cannot be opened", path);
    bloomfile_get_info(f, info);
    bloomfile_close(f);
}

/* What has been written to a pipe is told by a filter with no keys that is as large. No memory is
 * taken for its bits, but a limit may forbid it: false, with a warning. */
static bool inspect_its_like(const struct create *c, bloomfile_builder *builder,
                             struct bloomfile_info *info)
{
    bloomfile *f;
    struct bloomfile_params params = c->params;
    uint64_t keys;
    int error = bloomfile_builder_count(builder, &keys);
    if (params.capacity == 0)
        params.capacity = keys > 0 ? keys : 1;
    if (error == 0)
        error = bloomfile_create(&f, NULL, &params, 0);
    if (error != 0) {
        cli_warn(error, "the filter is written, but cannot be described");
        return false;
    }
    bloomfile_get_info(f, info);
    bloomfile_close(f);
    info->keys = keys;
    info->ones = keys; /* as good as any number: there are some */
    return true;
}

static void report(const struct create *c, bloomfile_builder *builder, uint64_t read)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    if (c->path != NULL)
        inspect_file(c->path, &info);
    if (c->quiet)
        return;
    if (c->path == NULL && !inspect_its_like(c, builder, &info))
        return;
    struct say_rate expected = { .rate = bloomfile_fpr_for(info.layout, info.bits, info.hashes,
                                                           info.keys) };
    say_warnings(name_of(c), &info, expected);
    if (create_is_summed_up(c))
        say_summary(name_of(c), &info, expected, read - info.keys);
}

void create_sealed(const struct create *c)
{
    bloomfile_builder *builder;
    struct bloomfile_params params = c->params;
    struct keys_options keys = c->keys;
    char *folder = NULL;
    if (c->path != NULL) {
        check_file(c);
        folder = folder_of(c->path);
    } else {
        check_standard_output(c);
    }
    params.spool = folder;
    share_memory(c, &params, &keys);
    int error = bloomfile_builder_new(&builder, &params);
    if (error != 0)
        cannot_make(c, error);
    check_size(c);
    uint64_t read = read_keys(c, &params, &keys, builder);
    publish(c, builder);
    report(c, builder, read);
    bloomfile_builder_free(builder);
    free(folder);
    if (c->path == NULL)
        cli_close_stdout();
}
