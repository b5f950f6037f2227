/* SPDX-License-Identifier: MIT
 * Checks of an existing DEST: it may be a source, or a filter whose keys would be lost. */
#include "bfmerge/sources.h"
#include "cli/cli.h"
#include "filters/destination.h"
#include "filters/lost_keys.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "filters/same_file.h"
#include "filters/target_file.h"

#include <bloomfile_combine.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum {
    COMMAND_SIZE = 9000 /* includes two paths */
};

/* Opens the first source, if it is a file. Returns NULL if it is not, or cannot be opened. */
static bloomfile_filter *open_first(const struct merge_dest *d)
{
    bloomfile_filter *f;
    if (d->src_count == 0 || strcmp(d->src[0], "-") == 0)
        return NULL;
    return opening_any(&f, d->src[0], 0) == 0 ? f : NULL;
}

/* Whether DEST can be merged with the first source. `first`: that source; NULL: not open yet. */
static bool can_join(const struct merge_dest *d, const bloomfile_filter *first)
{
    bloomfile_filter *dest, *own = first == NULL ? open_first(d) : NULL;
    const bloomfile_filter *source = first != NULL ? first : own;
    bool can = d->is_union && source != NULL;
    if (can && opening_any(&dest, d->path, 0) == 0) {
        can = bloomfile_check_merge(dest, source) == 0;
        bloomfile_close(dest);
    } else {
        can = false;
    }
    bloomfile_close(own);
    return can;
}

/* Whether a shell and an option parser take the name unchanged. */
static bool is_plain(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./+-,:@%=";
    return name[0] != '-' && name[strspn(name, plain)] == '\0';
}

/* A merge without those keys is right if DEST is an old merge. It is wrong if DEST was named last:
 * then the first source was meant. */
#define ORDER   "the destination comes first: bfmerge DEST SRC...; "
#define DISCARD "--force --discard would lose its keys"

/* Suggests naming DEST as a source, if that would keep its keys: only for a union, and if DEST is
 * sealed and compatible. */
static _Noreturn void fail_for_loss(const struct merge_dest *d, const bloomfile_filter *first)
{
    char command[COMMAND_SIZE] = "";
    const char *src = d->src_count == 1 ? d->src[0] : "SRC...";
    if (lost_keys_is_live(d->path))
        cli_fail(0, "cannot replace %s: it is live, and not one of the sources (" ORDER DISCARD ")",
                 d->path);
    if (!can_join(d, first))
        cli_fail(0, "cannot replace %s: it is not one of the sources (" ORDER DISCARD ")", d->path);
    if (is_plain(d->path) && is_plain(src))
        snprintf(command, sizeof(command), ": bfmerge -f %s %s %s", d->path, d->path, src);
    cli_fail(0,
             "cannot replace %s: it is not one of the sources (" ORDER
             "to keep its keys, name it as a source too%s; " DISCARD ")",
             d->path, command);
}

/* `first`: the first source; NULL: not open yet. */
static void check(const struct merge_dest *d, bool is_source, const bloomfile_filter *first)
{
    struct stat st;
    if (stat(d->path, &st) != 0)
        return;
    target_check_old(d->path);
    if (!is_source && !d->discard && lost_keys_are_in(d->path))
        fail_for_loss(d, first);
    if (!d->force && is_source && d->is_union)
        cli_fail(0, "cannot create %s: %s (add --force: it is also a source, so its keys are kept)",
                 d->path, bloomfile_strerror(EEXIST));
    if (!d->force)
        destination_fail(d->path, EEXIST);
}

void merge_dest_check_names(const struct merge_dest *d)
{
    bool is_source = false;
    destination_check(d->path, true);
    for (int i = 0; i < d->src_count; i++)
        is_source |= same_file_is(d->path, d->src[i]);
    if (!destination_is_stdout(d->path))
        check(d, is_source, NULL);
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Whether standard input was this file, and all keys that the file has now were read. cp -p
 * can restore st_mtim, but not st_ctim. */
static bool was_read(const struct merge_sources *s, const struct stat *now)
{
    const struct stat *then = &s->stdin_file;
    return s->stdin_whole && now->st_dev == then->st_dev && now->st_ino == then->st_ino &&
           now->st_size == then->st_size && same_time(now->st_mtim, then->st_mtim) &&
           same_time(now->st_ctim, then->st_ctim);
}

static bool is_source(const struct merge_dest *d, const struct merge_sources *s)
{
    struct stat st;
    if (stat(d->path, &st) != 0)
        return false;
    bool is = was_read(s, &st);
    for (size_t i = 0; i < s->count; i++) {
        const struct merge_source *source = &s->list[i];
        is |= source->is_file && source->device == st.st_dev && source->inode == st.st_ino;
    }
    return is;
}

/* Whether a source was opened by a name that now leads to DEST. */
static bool has_name_of_source(const struct merge_dest *d, const struct merge_sources *s)
{
    bool has = false;
    for (size_t i = 0; i < s->count; i++)
        has |= s->list[i].is_file && same_file_is(d->path, s->list[i].name);
    return has;
}

/* A sealed source may be replaced, because it stays mapped. A live source may not: its writers
 * would lose their file. */
static void check_live_sources(const struct merge_dest *d, const struct merge_sources *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct merge_source *source = &s->list[i];
        if (source->is_file && source->info.state == BLOOMFILE_STATE_LIVE &&
            same_file_is(d->path, source->name))
            cli_fail(0, "cannot create %s: it is a filter to merge, and live", d->path);
    }
}

/* Refuses standard output if it is a source: the output would overwrite that source. */
static void check_stdout(const struct merge_sources *s)
{
    bool same = s->stdin_taken && same_file_is("-", "-");
    for (size_t i = 0; i < s->count; i++)
        same |= s->list[i].is_file && same_file_is("-", s->list[i].name);
    if (same)
        cli_fail(0, "cannot write to standard output: it is one of the filters to merge");
}

void merge_dest_check(const struct merge_dest *d, const struct merge_sources *s)
{
    if (destination_is_stdout(d->path)) {
        check_stdout(s);
        return;
    }
    check_live_sources(d, s);
    const bool is = is_source(d, s);
    if (!is && has_name_of_source(d, s))
        message_replaced(d->path);
    check(d, is, s->list[0].filter);
}
