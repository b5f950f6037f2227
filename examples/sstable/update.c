/* SPDX-License-Identifier: MIT */
#include "update.h"
#include "files.h"
#include "table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is left over */

/* The number in "000007.mtbl", "000007.bloom", "000007.mtbl.tmp". */
static bool parse_name(const char *name, uint64_t *number, const char **suffix)
{
    if (strspn(name, "0123456789") < 6)
        return false;
    char *end;
    *number = strtoull(name, &end, 10);
    *suffix = end;
    return strcmp(end, TABLE_SUFFIX) == 0 || strcmp(end, FILTER_SUFFIX) == 0 ||
           strcmp(end, TABLE_SUFFIX ".tmp") == 0;
}

/* Numbers after the next one are not from this tablet. bloomfile's temporary file has a name for a
 * moment, which a kill may leave behind. */
static bool is_left_over(const struct manifest *m, const char *name)
{
    uint64_t number;
    const char *suffix;
    if (parse_name(name, &number, &suffix))
        return number <= m->next &&
               (!manifest_names(m, number) || strcmp(suffix, TABLE_SUFFIX ".tmp") == 0);
    return fnmatch(".bloomfile.????????????.tmp", name, 0) == 0 ||
           strcmp(name, "MANIFEST.tmp") == 0;
}

/* NULL: the end, or an error, if errno is not 0. */
static const char *next_name(DIR *directory)
{
    errno = 0;
    const struct dirent *entry = readdir(directory);
    return entry == NULL ? NULL : entry->d_name;
}

static void sweep(const struct update *u, const struct manifest *m)
{
    DIR *directory = opendir(u->directory);
    if (directory == NULL) {
        report(u->reporter, errno, "cannot look for leftovers in %s", u->directory);
        return;
    }
    for (const char *name; (name = next_name(directory)) != NULL;) {
        if (is_left_over(m, name) && unlinkat(dirfd(directory), name, 0) == -1)
            report(u->reporter, errno, "cannot remove %s/%s", u->directory, name);
    }
    if (errno != 0)
        report(u->reporter, errno, "cannot look for leftovers in %s", u->directory);
    closedir(directory);
}

/* ---- a new tablet */

static bool is_table_or_filter(const char *name)
{
    return fnmatch("*" TABLE_SUFFIX, name, 0) == 0 || fnmatch("*" FILTER_SUFFIX, name, 0) == 0;
}

/* Without a manifest they are somebody's, and no leftovers of ours: the manifest comes before the
 * first table. */
static int refuse_tables(const struct update *u)
{
    DIR *directory = opendir(u->directory);
    if (directory == NULL)
        return report(u->reporter, errno, "cannot read %s", u->directory);
    const char *name = next_name(directory);
    while (name != NULL && !is_table_or_filter(name))
        name = next_name(directory);
    const int error = name == NULL ? errno : EEXIST;
    if (name != NULL)
        report(u->reporter, 0, "cannot make a tablet of %s: it has %s, but no MANIFEST",
               u->directory, name);
    else if (error != 0)
        report(u->reporter, error, "cannot read %s", u->directory);
    closedir(directory);
    return error;
}

/* The directory's own name goes to disk before there is anything in it. */
static int create_manifest(struct update *u)
{
    bool in_force;
    int error = refuse_tables(u);
    if (error != 0)
        return error;
    char *parent = file_path(u->directory, "..");
    error = parent == NULL ? ENOMEM : sync_directory(parent);
    free(parent);
    if (error != 0)
        return report(u->reporter, error, "cannot write the name of %s to disk", u->directory);
    u->manifest = (struct manifest){ .next = 1 };
    return manifest_write(&u->manifest, u->directory, &in_force, u->reporter);
}

static int read_or_create_manifest(struct update *u, bool create)
{
    const int error = manifest_read(&u->manifest, u->directory, u->reporter);
    if (error != ENOENT)
        return error;
    if (create)
        return create_manifest(u);
    report(u->reporter, 0, "%s is no tablet: it has no MANIFEST", u->directory);
    return ENOENT;
}

/* ---- a change */

/* The names in the directory go to disk first: of a manifest that a process killed right after the
 * rename has left, it is not known whether it is there, and tables will be removed by it. */
static int lock_directory(struct update *u)
{
    u->lock = open(u->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (u->lock == -1)
        return report(u->reporter, errno, "cannot open %s", u->directory);
    if (flock(u->lock, LOCK_EX | LOCK_NB) == -1) {
        const int error = errno;
        if (error != EWOULDBLOCK)
            return report(u->reporter, error, "cannot lock %s", u->directory);
        report(u->reporter, 0, "cannot change %s: another process does", u->directory);
        return error;
    }
    const int error = sync_directory(u->directory);
    if (error != 0)
        report(u->reporter, error, "cannot write the names in %s to disk", u->directory);
    return error;
}

int update_begin(struct update *u, const char *directory, bool create,
                 const struct reporter *reporter)
{
    *u = (struct update){ .directory = directory, .reporter = reporter, .lock = -1 };
    if (create && mkdir(directory, 0777) == -1 && errno != EEXIST)
        return report(reporter, errno, "cannot make the directory %s", directory);
    int error = lock_directory(u);
    if (error == 0)
        error = read_or_create_manifest(u, create);
    if (error == 0)
        sweep(u, &u->manifest);
    else if (u->lock != -1)
        close(u->lock);
    return error;
}

int update_commit(struct update *u, size_t first, size_t replaced, bool has_table)
{
    struct manifest *m = &u->manifest;
    const size_t added = has_table ? 1 : 0, last = first + replaced;
    bool in_force;
    if (m->count - replaced + added > MANIFEST_TABLES) {
        report(u->reporter, 0, "%s has %zu tables: compact it first", u->directory, m->count);
        return ENOSPC;
    }
    memmove(&m->tables[first + added], &m->tables[last], (m->count - last) * sizeof m->tables[0]);
    m->count = m->count - replaced + added;
    if (has_table)
        m->tables[first] = m->next++;
    const int error = manifest_write(m, u->directory, &in_force, u->reporter);
    u->in_doubt = error != 0 && in_force;
    return error;
}

void update_end(struct update *u)
{
    struct manifest in_force;
    if (!u->in_doubt && manifest_read(&in_force, u->directory, u->reporter) == 0)
        sweep(u, &in_force);
    close(u->lock);
}
