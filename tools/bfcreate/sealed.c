/* SPDX-License-Identifier: MIT
 * bfcreate without --live: keys go into a builder, and the builder into a file. */
#include "bfcreate/create.h"
#include "cli/cli.h"
#include "filters/destination.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "filters/params.h"
#include "filters/same_file.h"
#include "filters/target_file.h"
#include "keys/feed.h"
#include "os/file.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MIB            (1u << 20)
#define PROGRAM_MEMORY (4 * MIB)     /* code, libraries and stacks */
#define SOLVING_MEMORY (5 * MIB / 4) /* per thread of a builder, in addition to its memory */

enum {
    NONE_SIZE = 100, /* for the message that there are no keys */
    TRIES = 1000     /* to replace a file that other processes replace too */
};

_Noreturn void create_fail(const struct create *c, int error)
{
    char why[TOO_LARGE_TEXT];
    const bool to_stdout = destination_is_stdout(c->path);
    const bool explained = too_large_explain(&c->params, error, why);
    if (error == BLOOMFILE_EREPLACED)
        target_fail_changed(c->path);
    if (explained && to_stdout && error == ENOSPC)
        cli_fail(0, "cannot write a temporary file in %s: %s: %s", spool_folder(NULL),
                 bloomfile_strerror(error), why);
    if (explained)
        cli_fail(0, "cannot create %s: %s: %s", to_stdout ? "the filter" : c->path,
                 bloomfile_strerror(error), why);
    if (to_stdout)
        destination_fail(c->path, error);
    message_cannot_create(c->path, error);
}

/* ------------------------------------------------------------------ checks before keys are read */

static void check_dest(const struct create *c)
{
    same_file_check_names(c->path, &c->inputs);
    if (!destination_is_stdout(c->path))
        target_hold(c->path);
    destination_check(c->path, c->force);
}

static void check_size(const struct create *c)
{
    struct bloomfile_params p = c->params;
    struct bloomfile_size size;
    p.capacity = p.capacity > 0 ? p.capacity : 1;
    if (p.bits != 0 || params_size(&p, &size))
        return;
    p.layout = BLOOMFILE_LAYOUT_BLOCKED;
    if (p.hashes == 0 && params_size(&p, &size))
        cli_fail(
            0,
            "cannot create the filter: the layout %s cannot reach so low a rate (use -l blocked "
            "or -l classic)",
            bloomfile_layout_name(c->params.layout));
    create_fail(c, BLOOMFILE_EUNREACHABLE);
}

bloomfile_builder *create_builder(const struct create *c, const struct bloomfile_params *params)
{
    bloomfile_builder *builder;
    const int error = bloomfile_builder_new(&builder, params);
    if (error == BLOOMFILE_EVALUE && strcmp(bloomfile_invalid(), "slices") == 0)
        create_fail_for_slices(c);
    if (error != 0)
        create_fail(c, error);
    check_size(c);
    return builder;
}

/* --------------------------------------------------------------------------------------- memory */

/* A quarter of the machine's memory. */
static uint64_t default_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t quarter = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 4 : 0;
    return quarter > CREATE_LEAST_MEMORY ? quarter : CREATE_LEAST_MEMORY;
}

/* Divides the memory. Each thread has a piece of the input, and perhaps the beginning of a key that
 * is longer than a piece. The builder gets the rest, at least an eighth (0 means unlimited). */
static void share_memory(const struct create *c, struct bloomfile_params *params,
                         struct keys_options *keys)
{
    uint64_t memory = c->memory > 0 ? c->memory : default_memory();
    uint64_t threads = c->threads > 0 ? c->threads : params_default_threads();
    const bool solves = bloomfile_traits_of(params->layout)->solved;
    const uint64_t solving = solves ? SOLVING_MEMORY : 0, least = MIB + 2 * solving;
    if (threads > memory / least)
        threads = memory / least;
    const struct fields *f = &c->keys.fields;
    const unsigned found = f->csv || f->json != NULL ? 6 : f->count > 1 ? 4 : 2;
    const unsigned made = keys_options_form(&c->keys) == NULL ? 0
                          : c->keys.key_form.integers         ? 6
                                                              : found;
    const unsigned pieces = found + made; /* the input, and the keys made from it */
    const uint64_t most = ((memory - memory / 8 - PROGRAM_MEMORY) / threads - solving) / pieces;
    uint64_t piece = memory / threads / 16;
    if (piece > most)
        piece = most;
    if (piece > MIB)
        piece = MIB;
    keys->piece_size = (size_t)piece;
    keys->piece_least = keys->piece_size / 4;
    params->threads = (uint32_t)threads;
    params->memory = memory - PROGRAM_MEMORY - threads * (pieces * piece + solving);
}

/* The folder of the new file, for temporary files. The caller frees it. */
static char *folder_of(const char *path)
{
    char *file = realpath(path, NULL);
    if (file == NULL)
        file = strdup(path);
    const char *folder = file != NULL ? dirname(file) : NULL;
    if (folder == NULL)
        message_cannot_create(path, ENOMEM);
    memmove(file, folder, strlen(folder) + 1);
    return file;
}

/* -------------------------------------------------------------------------------------- making */

static uint64_t read_keys(const struct create *c, const struct bloomfile_params *params,
                          const struct keys_options *keys, bloomfile_builder *builder)
{
    uint64_t count;
    int error = feed_builder(builder,
                             &(struct feed_options){ .keys = *keys,
                                                     .inputs = c->inputs.list,
                                                     .inputs_count = c->inputs.count,
                                                     .threads = params->threads,
                                                     .quiet = c->quiet },
                             &count);
    if (error == ENOMEM)
        cli_fail(ENOMEM, "cannot hold more than %" PRIu64 " key%s", count, cli_s(count));
    if (error != 0)
        cli_fail(0, "cannot write a temporary file in the folder %s: %s (raise --memory, or %s)",
                 spool_folder(params->spool), bloomfile_strerror(error),
                 params->spool == NULL ? "set TMPDIR to another folder"
                                       : "create the filter in another folder");
    return count;
}

/* ------------------------------------------------------------------ checks after keys are read
 *
 * If keys come through a pipe, the program that writes them may have failed. Only the number of
 * keys can show that here. */

static _Noreturn void too_few(const struct create *c, uint64_t keys)
{
    bool to_stdout = destination_is_stdout(c->path);
    cli_fail(0,
             "cannot %s %s: %" PRIu64 " different key%s, fewer than the %" PRIu64
             " of --min-keys (did the program that writes the keys fail?)",
             to_stdout ? "write to" : "create", destination_name(c->path), keys, cli_s(keys),
             c->min_keys);
}

/* A slice may have no keys although keys were read: all of them may belong to other slices. */
static _Noreturn void none_to_replace(const struct create *c, uint64_t read)
{
    char why[NONE_SIZE] = "the input has no keys (did the program that writes them fail?)";
    if (read > 0)
        snprintf(why, sizeof(why), "this slice has no keys of the %" PRIu64 " key%s read", read,
                 cli_s(read));
    cli_fail(0, "cannot replace %s: its keys would be lost, and %s", c->path, why);
}

/* `read` includes repeated keys. */
static void check_number_of_keys(const struct create *c, bloomfile_builder *builder, uint64_t read)
{
    const bool sliced = c->params.slices > 0; /* a slice has only some of the keys read */
    uint64_t keys = read;
    if ((read >= c->min_keys && c->min_keys > 0) || sliced) {
        int error = bloomfile_builder_count(builder, &keys);
        if (error != 0)
            cli_fail(error, "cannot count the keys");
    }
    if ((sliced ? read : keys) < c->min_keys)
        too_few(c, sliced ? read : keys);
    if (keys == 0 && !c->allow_empty && !destination_is_stdout(c->path) && target_has_keys(c->path))
        none_to_replace(c, read);
}

/* Whether the disk of the temporary file has room, so that standard output is the file
 * that lacks it. */
static bool has_room(const struct bloomfile_params *params)
{
    struct statvfs disk;
    return statvfs(spool_folder(NULL), &disk) == 0 &&
           too_large_bytes(params) < (double)disk.f_bavail * (double)disk.f_frsize;
}

/* Builds in memory, which gives the embedded format. */
static int write_embedded(const struct create *c, bloomfile_builder *builder)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    int error = bloomfile_builder_write(builder, &to);
    if (error != 0)
        return error;
    if (!destination_is_stdout(c->path))
        error = target_write(c->path, to.memory, to.size, c->force);
    else if (!await_write(STDOUT_FILENO, to.memory, to.size))
        error = errno;
    bloomfile_free(to.memory);
    return error;
}

static int write_file(const struct create *c, bloomfile_builder *builder)
{
    struct bloomfile_destination to = destination_of(c->path, c->force);
    return bloomfile_builder_write(builder, &to);
}

/* Compares the file with the file of the first check, and lets no other file be replaced. */
static int write_checked(const struct create *c, bloomfile_builder *builder, uint64_t read)
{
    if (!destination_is_stdout(c->path))
        target_hold(c->path);
    destination_check_again(c->path);
    if (!destination_is_stdout(c->path)) {
        target_check_unchanged(c->path);
        if (read == 0 || c->params.slices > 0)
            check_number_of_keys(c, builder, read);
    }
    return (c->embedded ? write_embedded : write_file)(c, builder);
}

/* Writes again if another sealed filter took the name while this filter was written. */
static void publish(const struct create *c, bloomfile_builder *builder, uint64_t read)
{
    struct cli_progress progress = { .doing = "building the filter ...",
                                     .shown_ns = c->quiet ? -1 : 0 };
    cli_progress_step(&progress);
    int error = BLOOMFILE_EREPLACED;
    for (unsigned i = 0; i < TRIES && error == BLOOMFILE_EREPLACED; i++)
        error = write_checked(c, builder, read);
    if (error == BLOOMFILE_EFULL)
        create_refuse_over_capacity(c, builder);
    if (error != 0 && !(error == ENOSPC && destination_is_stdout(c->path) && has_room(&c->params)))
        create_fail(c, error);
    if (error != 0)
        destination_fail(c->path, error);
    cli_progress_end(&progress);
}

/* ---------------------------------------------------------------------------------- description */

static void report(struct create *c, bloomfile_builder *builder, uint64_t read)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    const bool to_stdout = destination_is_stdout(c->path);
    if (!to_stdout)
        opening_result(c->path, "was created", &info, NULL);
    if (c->quiet && read == 0 && !c->allow_empty)
        message_no_keys(destination_name(c->path));
    const bool sized_by_hand = c->params.capacity > 0 || c->params.bits > 0;
    if (c->quiet && !sized_by_hand && !report_wanted(&c->report))
        return;
    uint64_t keys = info.keys;
    const int error = to_stdout ? create_inspect_its_like(c, builder, &info)
                                : bloomfile_builder_count(builder, &keys);
    if (error != 0)
        cli_warn("the filter is written, but cannot be described: %s", bloomfile_strerror(error));
    if (error != 0)
        return;
    if (!to_stdout && info.keys != keys)
        cli_fail(0,
                 "cannot describe %s: it was created, and then another process replaced it (check "
                 "the new file)",
                 c->path);
    create_put_report(c, &info, read);
    if (c->params.slices > 0) {
        create_report_slice(c, &info, read);
        return;
    }
    struct message_rate expected = { .rate = message_expected(&info, info.keys) };
    if (!c->quiet)
        message_warnings(destination_name(c->path), &info, expected);
    if (c->summary)
        message_summary(destination_name(c->path), &info, expected, read - info.keys);
}

void create_put_report(struct create *c, const struct bloomfile_info *info, uint64_t read)
{
    if (!report_wanted(&c->report))
        return;
    c->report.file.written = destination_name(c->path);
    json *object = report_of_filter(c->path, info, NULL);
    json_put_count(object, "keys_read", read);
    if (c->params.slices > 0) {
        json_put_count(object, "first_block", info->first_block);
        json_put_count(object, "whole_blocks", info->whole_blocks);
    }
    report_put(&c->report, object);
}

void create_sealed(struct create *c)
{
    struct bloomfile_params params = c->params;
    struct keys_options keys = c->keys;
    char *folder = NULL;
    params.over_capacity = c->overfull;
    check_dest(c);
    if (!destination_is_stdout(c->path))
        folder = folder_of(c->path);
    params.spool = folder;
    share_memory(c, &params, &keys);
    c->builder = create_builder(c, &params);
    uint64_t read = read_keys(c, &params, &keys, c->builder);
    check_number_of_keys(c, c->builder, read);
    create_check_useless(c, c->builder);
    publish(c, c->builder, read);
    report(c, c->builder, read);
    bloomfile_builder_free(c->builder);
    free(folder);
}
