/* SPDX-License-Identifier: MIT
 * A DEST that exists: a source, or a filter whose keys would be lost. */
#include "bfmerge/dest.h"
#include "shared/cli.h"
#include "shared/layers_look.h"
#include "shared/output.h"
#include "shared/sink.h"
#include "shared/target.h"

#include <errno.h>
#include <sys/stat.h>

enum {
    COMMAND_SIZE = 9000 /* with two paths */
};

static bool is_live(const char *path)
{
    const struct layers_one one = layers_look(path, 0);
    return one.error == 0 && one.info.state == BLOOMFILE_LIVE;
}

/* Only a union of sealed sources can have its keys. */
static _Noreturn void fail_for_loss(const struct merge_dest *d)
{
    char command[COMMAND_SIZE];
    const bool is_one = d->src_count == 1 && !d->lists;
    if (is_live(d->path))
        cli_fail(
            0, "cannot replace %s: it is live, and not one of the sources (write to another file)",
            d->path);
    if (!d->is_union)
        cli_fail(0, "cannot replace %s: it is not one of the sources (write to another file)",
                 d->path);
    snprintf(command, sizeof(command), "bfmerge -f %s %s %s", d->path, d->path,
             is_one ? d->src[0] : "SRC...");
    cli_fail(0,
             "cannot replace %s: it is not one of the sources (name it as a source too, to keep "
             "its keys: %s)",
             d->path, command);
}

static void check(const struct merge_dest *d, bool is_source)
{
    struct stat st;
    if (stat(d->path, &st) != 0)
        return;
    target_check_old(d->path);
    if (!is_source && !d->discard && (target_has_keys(d->path) || is_live(d->path)))
        fail_for_loss(d);
    if (!d->force && is_source && d->is_union)
        cli_fail(0, "cannot create %s: %s (--force replaces it, and keeps its keys)", d->path,
                 bloomfile_strerror(EEXIST));
    if (!d->force)
        sink_fail(d->path, EEXIST);
}

void merge_dest_check_names(const struct merge_dest *d)
{
    bool is_source = false;
    sink_check(d->path, true);
    for (int i = 0; i < d->src_count; i++)
        is_source |= output_is(d->path, d->src[i]);
    if (!d->lists && !sink_is_stdout(d->path))
        check(d, is_source);
}

static bool is_source(const struct merge_dest *d, const struct merge_sources *s)
{
    struct stat st;
    if (stat(d->path, &st) != 0)
        return false;
    bool is = s->stdin_taken && output_is(d->path, "-");
    for (size_t i = 0; i < s->count; i++) {
        const struct merge_source *source = &s->list[i];
        is |= source->is_file && source->device == st.st_dev && source->inode == st.st_ino;
    }
    return is;
}

/* A sealed source stays mapped when DEST takes its name; a live one would lose its writers. */
static void check_live_sources(const struct merge_dest *d, const struct merge_sources *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct merge_source *source = &s->list[i];
        if (source->is_file && source->info.state == BLOOMFILE_LIVE &&
            output_is(d->path, source->name))
            cli_fail(0, "cannot create %s: it is one of the filters to merge, and live", d->path);
    }
}

/* What is written to standard output goes into the file itself. */
static void check_stdout(const struct merge_sources *s)
{
    bool same = s->stdin_taken && output_is("-", "-");
    for (size_t i = 0; i < s->count; i++)
        same |= s->list[i].is_file && output_is("-", s->list[i].name);
    if (same)
        cli_fail(0, "cannot write to standard output: it is one of the filters to merge");
}

void merge_dest_check(const struct merge_dest *d, const struct merge_sources *s)
{
    if (sink_is_stdout(d->path)) {
        check_stdout(s);
        return;
    }
    check_live_sources(d, s);
    check(d, is_source(d, s));
}
