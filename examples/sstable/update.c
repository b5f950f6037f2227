/* SPDX-License-Identifier: MIT
 *
 * Changes that survive a kill at any moment, which makes the demonstration robust. */
#include "change.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static struct update *unfinished;

/* ---- what is left over */

static bool names(const struct manifest *m, uint64_t number)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->tables[i] == number)
            return true;
    return false;
}

/* 000007.mtbl, 000007.bloom, 000007.mtbl.tmp. Numbers after the next one are not from this tablet.
 * bloomfile's temporary file has a name for a moment, which a kill may leave behind. */
static bool is_left_over(const struct manifest *m, const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    const char *const suffix = name + digits;
    const bool temporary = strcmp(suffix, TABLE_SUFFIX ".tmp") == 0;
    const uint64_t number = strtoull(name, NULL, 10);
    if (digits < 6)
        return fnmatch(".bloomfile.????????????.tmp", name, 0) == 0 ||
               strcmp(name, "MANIFEST.tmp") == 0;
    return number <= m->next && (temporary || ((strcmp(suffix, TABLE_SUFFIX) == 0 ||
                                                strcmp(suffix, FILTER_SUFFIX) == 0) &&
                                               !names(m, number)));
}

static bool is_table_or_filter(const struct manifest *m, const char *name)
{
    (void)m;
    return fnmatch("*" TABLE_SUFFIX, name, 0) == 0 || fnmatch("*" FILTER_SUFFIX, name, 0) == 0;
}

typedef void name_call(const struct update *u, int directory, const char *name);

/* Calls for each name that is such. */
static bool each_name(const struct update *u, bool (*is)(const struct manifest *, const char *),
                      name_call *call)
{
    const struct dirent *entry = NULL;
    DIR *directory = opendir(u->directory);
    while (directory != NULL && (errno = 0, entry = readdir(directory)) != NULL) {
        if (is(&u->manifest, entry->d_name))
            call(u, dirfd(directory), entry->d_name);
    }
    const bool done = directory != NULL && errno == 0;
    if (!done)
        warn("cannot read %s", u->directory);
    if (directory != NULL)
        closedir(directory);
    return done;
}

static void remove_name(const struct update *u, int directory, const char *name)
{
    if (unlinkat(directory, name, 0) == -1)
        warn("cannot remove %s/%s", u->directory, name);
}

static _Noreturn void refuse_name(const struct update *u, int directory, const char *name)
{
    (void)directory;
    errx(2, "cannot make a tablet of %s: it has %s, but no MANIFEST", u->directory, name);
}

/* ---- a change */

/* Tables and filters without a manifest are somebody's, and no leftovers of ours: the manifest
 * comes before the first table. The directory's own name goes to disk before there is anything in
 * it. */
static void create_manifest(struct update *u)
{
    char *parent = join(u->directory, "/", "..");
    if (!each_name(u, is_table_or_filter, refuse_name))
        exit(2);
    check_bloomfile(sync_directory(parent), "write to disk the name of", u->directory);
    free(parent);
    u->manifest = (struct manifest){ .next = 1 };
    manifest_write(&u->manifest, u->directory, &u->in_doubt);
}

/* The names in the directory go to disk first: of a manifest that a process killed right after the
 * rename has left, it is not known whether it is there, and tables will be removed by it. */
static void lock_directory(struct update *u)
{
    u->lock = open(u->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (u->lock == -1)
        err(2, "cannot open %s", u->directory);
    if (flock(u->lock, LOCK_EX | LOCK_NB) == -1) {
        if (errno == EWOULDBLOCK)
            errx(2, "cannot change %s: another process does", u->directory);
        err(2, "cannot lock %s", u->directory);
    }
    check_bloomfile(sync_directory(u->directory), "write to disk the names in", u->directory);
}

static void end_at_exit(void)
{
    if (unfinished != NULL)
        update_end(unfinished);
}

void update_begin(struct update *u, const char *directory, bool create)
{
    static bool prepared;
    *u = (struct update){ .directory = directory };
    if (create && mkdir(directory, 0777) == -1 && errno != EEXIST)
        err(2, "cannot make the directory %s", directory);
    lock_directory(u);
    if (!manifest_read(&u->manifest, directory)) {
        if (!create)
            errx(2, "%s is no tablet: it has no MANIFEST", directory);
        create_manifest(u);
    }
    each_name(u, is_left_over, remove_name);
    if (!prepared && atexit(end_at_exit) != 0)
        errx(2, "cannot prepare to clean up");
    prepared = true;
    unfinished = u;
}

void update_commit(struct update *u, size_t first, size_t replaced, bool has_table)
{
    struct manifest m = u->manifest;
    const size_t added = has_table ? 1 : 0, last = first + replaced;
    if (m.count - replaced + added > MANIFEST_TABLES)
        errx(2, "%s has %zu tables: compact it first", u->directory, m.count);
    memmove(&m.tables[first + added], &m.tables[last], (m.count - last) * sizeof m.tables[0]);
    m.count = m.count - replaced + added;
    if (has_table)
        m.tables[first] = m.next++;
    manifest_write(&m, u->directory, &u->in_doubt);
    u->manifest = m;
}

void update_end(struct update *u)
{
    unfinished = NULL;
    if (!u->in_doubt)
        each_name(u, is_left_over, remove_name);
    close(u->lock);
}
