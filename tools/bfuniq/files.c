/* SPDX-License-Identifier: MIT
 * Generations of filters in files. */
#include "bfuniq/files.h"
#include "shared/cli.h"

#include <bloomfile_live.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TRIES = 10
};

/* The numbers behind FILE. that are in its folder, in no order. */
struct numbers {
    uint64_t *list;
    size_t count, room;
    uint64_t newest;
};

static char *name_of(const struct seen *s, uint64_t number)
{
    char *name;
    if (asprintf(&name, "%s.%" PRIu64, s->path, number) < 0)
        cli_fail(ENOMEM, "cannot go on to generation %" PRIu64, number);
    return name;
}

/* ------------------------------------------------------------------------- what files there are */

/* The number in FILE.<number>, written as name_of() does; 0 if it is none. */
static uint64_t number_in(const char *entry, const char *base)
{
    size_t length = strlen(base);
    uint64_t number;
    if (strncmp(entry, base, length) != 0 || entry[length] != '.')
        return 0;
    const char *digits = entry + length + 1;
    bool plain = digits[0] >= '1' && digits[0] <= '9' && cli_parse_u64(digits, &number);
    return plain && number < UINT64_MAX ? number : 0;
}

static void note(struct numbers *found, uint64_t number)
{
    if (found->count == found->room) {
        found->room = 2 * found->room + 16;
        found->list = reallocarray(found->list, found->room, sizeof(found->list[0]));
        if (found->list == NULL)
            cli_fail(ENOMEM, "cannot list the generations");
    }
    found->list[found->count++] = number;
    if (number > found->newest)
        found->newest = number;
}

/* Returns 0 or an errno. */
static int list(const struct seen *s, struct numbers *found)
{
    const char *slash = strrchr(s->path, '/');
    const char *base = slash == NULL ? s->path : slash + 1;
    char *folder = slash == NULL ? strdup(".") : strndup(s->path, (size_t)(base - s->path));
    DIR *entries = folder == NULL ? NULL : opendir(folder);
    int error = errno;
    free(folder);
    if (entries == NULL)
        return error;
    struct dirent *entry;
    while ((errno = 0, entry = readdir(entries)) != NULL) {
        uint64_t number = number_in(entry->d_name, base);
        if (number > 0)
            note(found, number);
    }
    error = errno;
    closedir(entries);
    return error;
}

static struct numbers find(const struct seen *s)
{
    struct numbers found = { 0 };
    int error = list(s, &found);
    if (error != 0)
        cli_fail(error, "cannot look for generations of %s in its folder", s->path);
    return found;
}

/* Whoever cannot list the folder cannot make a file in it either. */
void files_check_unused(const struct seen *s)
{
    struct numbers found = { 0 };
    char label[BLOOMFILE_MAX_LABEL + 1];
    if (access(s->path, F_OK) == 0)
        return;
    (void)list(s, &found);
    for (size_t i = 0; i < found.count; i++) {
        char *name = name_of(s, found.list[i]);
        if (filter_is_generation(name, label))
            cli_fail(0,
                     "cannot make %s: there is %s, of '%s' (give that and --every again, or name"
                     " a new file)",
                     s->path, name, label);
        free(name);
    }
    free(found.list);
}

/* Generations that begin beside a filter know nothing of what that has seen. */
static void check_no_plain_filter(const struct seen *s)
{
    bloomfile *f;
    if (bloomfile_open(&f, s->path, BLOOMFILE_ACCEPT_UNCLEAN | BLOOMFILE_APP_HASH) != 0)
        return;
    bloomfile_close(f);
    cli_fail(0,
             "cannot begin generations of %s: it is a filter without them, and what it has seen"
             " would be printed again (leave out --generations, or name a new file)",
             s->path);
}

static bool counts(const struct seen *s, uint64_t number, uint64_t newest)
{
    return newest - number < s->plan.generations;
}

/* ------------------------------------------------------------------------------------ following */

/* False if the file has gone meanwhile. */
static bool open_newest(struct seen *s, uint64_t number)
{
    if (number == s->number && bloomfile_is_stale(s->newest) == 0)
        return true;
    char *name = name_of(s, number);
    bloomfile *f = filter_open(&s->plan, name, true);
    free(name);
    if (f == NULL)
        return false;
    state_leave(s);
    s->newest = f;
    s->number = number;
    s->fill = (struct fill){ 0 };
    filter_follow(&s->plan, f);
    return true;
}

/* A writer that opens and closes a file after the machine went down marks it clean again. */
static void clean(const struct seen *s, const char *name)
{
    bloomfile *f = filter_open(&s->plan, name, true);
    int error = f == NULL ? 0 : bloomfile_sync(f);
    if (f != NULL && error == 0)
        error = bloomfile_finish(f);
    if (error != 0 && error != BLOOMFILE_EREPLACED)
        cli_fail(error, "cannot write %s to disk", name);
    bloomfile_close(f);
}

static bloomfile *open_older(const struct seen *s, uint64_t number)
{
    for (unsigned i = 0; i < s->older_count; i++) {
        if (s->older[i].number == number)
            return s->older[i].f;
    }
    char *name = name_of(s, number);
    if ((s->plan.open_flags & BLOOMFILE_ACCEPT_UNCLEAN) != 0)
        clean(s, name);
    bloomfile *f = filter_open(&s->plan, name, false);
    free(name);
    return f;
}

static void follow_older(struct seen *s)
{
    struct seen_older *older = calloc(s->plan.generations, sizeof(*older));
    if (older == NULL)
        cli_fail(ENOMEM, "cannot go on to generation %" PRIu64, s->number);
    unsigned count = 0;
    for (uint64_t number = s->number - 1; number > 0 && counts(s, number, s->number); number--) {
        bloomfile *f = open_older(s, number);
        if (f != NULL)
            older[count++] = (struct seen_older){ number, f };
    }
    for (unsigned i = 0; i < s->older_count; i++) {
        if (!counts(s, s->older[i].number, s->number))
            bloomfile_close(s->older[i].f);
    }
    free(s->older);
    s->older = older;
    s->older_count = count;
}

static void remove_expired(const struct seen *s, const struct numbers *found)
{
    for (size_t i = 0; i < found->count; i++) {
        if (counts(s, found->list[i], found->newest))
            continue;
        char *name = name_of(s, found->list[i]);
        if (filter_is_ours(&s->plan, name) && unlink(name) != 0 && errno != ENOENT)
            cli_warn(errno, "cannot remove %s, which has expired", name);
        free(name);
    }
}

static void create(const struct seen *s)
{
    char *name = name_of(s, s->number + 1);
    bloomfile *f = filter_create(&s->plan, name);
    int error = f == NULL ? 0 : bloomfile_finish(f);
    if (error != 0 && error != BLOOMFILE_EREPLACED)
        cli_fail(error, "cannot write %s to disk", name);
    bloomfile_close(f);
    free(name);
}

void files_load(struct seen *s)
{
    for (int tries = 0; tries < TRIES; tries++) {
        struct numbers found = find(s);
        bool opened = found.newest > 0 && found.newest >= s->number && open_newest(s, found.newest);
        if (opened) {
            follow_older(s);
            remove_expired(s, &found);
        } else if (found.newest <= s->number) {
            if (s->number == 0)
                check_no_plain_filter(s);
            create(s);
        }
        free(found.list);
        if (opened)
            return;
    }
    cli_fail(0, "cannot open the newest generation of %s: each time it was gone", s->path);
}

bool files_have_moved(const struct seen *s)
{
    char *next = name_of(s, s->number + 1);
    bool moved = access(next, F_OK) == 0;
    free(next);
    return moved || bloomfile_is_stale(s->newest) != 0;
}

bool files_are_gone(const struct seen *s)
{
    struct numbers found = find(s);
    free(found.list);
    return found.newest <= s->number;
}

void files_rotate(struct seen *s)
{
    create(s);
    files_load(s);
}
