/* SPDX-License-Identifier: MIT
 * The filters to merge: files, lists of files, and those in a stream. */
#include "bfmerge/sources.h"
#include "shared/cli.h"
#include "shared/framing.h"
#include "shared/keys.h"
#include "shared/say.h"
#include "shared/text.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 256,
    FIRST_ROOM = 16
};

static _Noreturn void no_memory(void)
{
    cli_fail(ENOMEM, "cannot hold more filters");
}

/* ------------------------------------------------------------------------------------- opening */

void merge_sources_put(struct merge_sources *s, char *name, bloomfile *filter,
                       const struct stat *file)
{
    if (s->count == s->room) {
        s->room = s->room == 0 ? FIRST_ROOM : 2 * s->room;
        s->list = reallocarray(s->list, s->room, sizeof(*s->list));
    }
    if (s->list == NULL || name == NULL)
        no_memory();
    say_if_series("merge", name, filter);
    struct merge_source *source = &s->list[s->count++];
    *source = (struct merge_source){ .name = name, .filter = filter, .info = BLOOMFILE_INFO_INIT };
    bloomfile_get_info(filter, &source->info);
    if (bloomfile_traits_of(source->info.layout)->solved && !s->slices)
        say_fail(BLOOMFILE_ESOLVED, "cannot merge", name);
    if (source->info.whole_blocks > 0 && !s->slices)
        say_fail(BLOOMFILE_ENOTWHOLE, "cannot merge", name);
    if (file != NULL) {
        source->is_file = true;
        source->device = file->st_dev;
        source->inode = file->st_ino;
    }
}

static void take_stdin(struct merge_sources *s)
{
    if (s->stdin_taken)
        cli_usage("standard input can be read only once");
    s->stdin_taken = true;
}

void merge_sources_add(struct merge_sources *s, const char *path)
{
    bloomfile *f;
    struct stat file;
    if (strcmp(path, "-") == 0) {
        take_stdin(s);
        merge_stdin(s);
        return;
    }
    int error = bloomfile_open(&f, path, BLOOMFILE_APP_HASH | s->open_flags);
    if (error != 0)
        say_cannot_open(path, error);
    if (stat(path, &file) != 0)
        cli_fail(errno, "cannot look at %s", path);
    merge_sources_put(s, strdup(path), f, &file);
}

static void add_listed(struct merge_sources *s, const char *list, const struct bloomfile_key *name,
                       uint64_t number)
{
    if (name->size == 0)
        cli_fail(0, "%s: name %" PRIu64 " is empty", list, number);
    if (memchr(name->data, '\0', name->size) != NULL)
        cli_fail(0, "%s: name %" PRIu64 " has a NUL byte (add -0 if names end with NUL)", list,
                 number);
    char *path = strndup(name->data, name->size);
    if (path == NULL)
        no_memory();
    merge_sources_add(s, path);
    free(path);
}

void merge_sources_add_listed(struct merge_sources *s, const char *path, bool null)
{
    struct keys_options options = { .null = null, .as_is = true };
    struct bloomfile_key names[BATCH];
    char *copy = strdup(path);
    if (copy == NULL)
        no_memory();
    if (strcmp(path, "-") == 0)
        take_stdin(s);
    struct keys *list = keys_new(&options, &copy, 1);
    uint64_t number = 0;
    for (size_t n; (n = keys_next(list, names, BATCH)) > 0;) {
        for (size_t i = 0; i < n; i++)
            add_listed(s, keys_path(list), &names[i], ++number);
    }
    if (number == 0)
        cli_fail(0, "%s names no filter", keys_path(list));
    keys_free(list);
    free(copy);
}

/* ------------------------------------------------------------------------------------ checking */

static int compare_files(const void *a, const void *b)
{
    const struct merge_source *x = *(const struct merge_source *const *)a;
    const struct merge_source *y = *(const struct merge_source *const *)b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return x < y ? -1 : x > y; /* in the order given */
}

static _Noreturn void fail_for_twins(const struct merge_source *a, const struct merge_source *b)
{
    if (strcmp(a->name, b->name) == 0)
        cli_fail(0, "cannot merge %s: it is named twice", b->name);
    cli_fail(0, "cannot merge %s: it is named twice, also as %s", b->name, a->name);
}

static void check_each_once(const struct merge_sources *s)
{
    const struct merge_source **files = calloc(s->count, sizeof(*files));
    const struct merge_source *first = NULL, *second = NULL;
    size_t count = 0;
    if (files == NULL)
        no_memory();
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].is_file)
            files[count++] = &s->list[i];
    }
    qsort(files, count, sizeof(*files), compare_files);
    for (size_t i = 1; i < count && second == NULL; i++) {
        bool same =
            files[i]->device == files[i - 1]->device && files[i]->inode == files[i - 1]->inode;
        first = files[i - 1];
        second = same ? files[i] : NULL;
    }
    free(files);
    if (second != NULL)
        fail_for_twins(first, second);
}

static _Noreturn void fail_for_difference(const struct merge_source *first,
                                          const struct merge_source *other, int error)
{
    const struct bloomfile_info *a = &first->info, *b = &other->info;
    char layout[2][32];
    switch (error) {
    case BLOOMFILE_EDIFFERENTLAYOUT:
        cli_fail(0, "cannot merge %s: layout %s, but %s: layout %s (build them with the same -l)",
                 other->name, text_layout(layout[0], sizeof(layout[0]), b->layout), first->name,
                 text_layout(layout[1], sizeof(layout[1]), a->layout));
    case BLOOMFILE_EDIFFERENTHASH:
        cli_fail(0, "cannot merge %s: hash function %" PRIu32 ", but %s: hash function %" PRIu32,
                 other->name, b->hash_id, first->name, a->hash_id);
    case BLOOMFILE_EDIFFERENTHASHES:
        cli_fail(0,
                 "cannot merge %s: k = %" PRIu32 ", but %s: k = %" PRIu32
                 " (build them with the same -n, or the same -k)",
                 other->name, b->hashes, first->name, a->hashes);
    case BLOOMFILE_EDIFFERENTSEED:
        cli_fail(0,
                 "cannot merge %s: seed %" PRIu64 ", but %s: seed %" PRIu64
                 " (build them with the same -s)",
                 other->name, b->seed, first->name, a->seed);
    default:
        cli_fail(error, "cannot merge %s with %s", other->name, first->name);
    }
}

void merge_sources_check(const struct merge_sources *s)
{
    check_each_once(s);
    for (size_t i = 1; i < s->count && !s->slices; i++) {
        int error = bloomfile_compatible(s->list[0].filter, s->list[i].filter);
        if (error != 0)
            fail_for_difference(&s->list[0], &s->list[i], error);
    }
}

void merge_sources_compare_framing(const struct merge_sources *s)
{
    const struct merge_source *first = NULL; /* that records it */
    for (size_t i = 0; i < s->count; i++) {
        const struct merge_source *source = &s->list[i];
        if (source->info.framing == BLOOMFILE_FRAMING_UNKNOWN)
            continue;
        if (first == NULL)
            first = source;
        if (framing_compare_filters(source->name, source->filter, first->name, first->filter))
            return;
    }
}

void merge_sources_check_damage(const struct merge_sources *s)
{
    for (size_t i = 0; i < s->count; i++) {
        int error = bloomfile_status(s->list[i].filter);
        if (error != 0)
            say_fail(error, "cannot merge", s->list[i].name);
    }
}

const bloomfile **merge_sources_filters(const struct merge_sources *s)
{
    const bloomfile **filters = calloc(s->count, sizeof(*filters));
    if (filters == NULL)
        no_memory();
    for (size_t i = 0; i < s->count; i++)
        filters[i] = s->list[i].filter;
    return filters;
}

void merge_sources_close(struct merge_sources *s)
{
    for (size_t i = 0; i < s->count; i++) {
        bloomfile_close(s->list[i].filter);
        free(s->list[i].name);
    }
    free(s->list);
}
