/* SPDX-License-Identifier: MIT
 * The file that a tool is about to create: checks whether it may be replaced, and
 * error messages. */
#include "filters/target_file.h"

#include <bloomfile.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/whole_file.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "filters/series.h"
#include "keys/input_type.h"
#include "os/host.h"
#include "os/path.h"
#include "publish/replace.h"

#define HEADER_LEAST 16 /* bytes: magic, version, size */

static void check_folder(const char *path, const char *file)
{
    char *copy = strdup(file);
    if (copy == NULL)
        message_cannot_create(path, ENOMEM);
    const char *folder = dirname(copy);
    if (faccessat(AT_FDCWD, folder, R_OK | W_OK | X_OK, AT_EACCESS) != 0)
        cli_fail(errno, "cannot create %s in the folder %s", path, folder);
    free(copy);
}

bool target_has_keys(const char *path)
{
    bloomfile_filter *f;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement m = { .struct_size = sizeof m, .ones = 1 };
    int error = bloomfile_open(&f, path, 0);
    if (error != 0)
        return error != ENOENT && error != BLOOMFILE_EEMPTY;
    bloomfile_get_info(f, &info);
    if (info.state == BLOOMFILE_STATE_LIVE) { /* the record lacks keys added since the last sync */
        bloomfile_measure(f, &m);             /* an error leaves 1: it may have keys */
        info.ones = m.ones;
    }
    bloomfile_close(f);
    return info.keys > 0 || !message_is_empty(&info);
}

static void check_new(const char *path)
{
    char why[SERIES_TEXT];
    if (path[strlen(path) - 1] == '/')
        message_cannot_create(path, EISDIR);
    if (series_claims(path, why))
        cli_fail(0, "cannot create %s: %s", path, why);
    if (series_dangles(path))
        cli_fail(0, "cannot create %s: it is a dangling symbolic link", path);
    check_folder(path, path);
}

/* Whether the file is too short to be recognized as a filter: any other file might begin alike. */
static bool has_no_header(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size < HEADER_LEAST;
}

/* The file may be the list of keys, given in the place of the filter. */
static _Noreturn void fail_for_kind(const char *path, const char *kind)
{
    struct input_type_text is;
    const char *order = message_order != NULL ? message_order : "write to another file";
    if (input_type_describe_file(path, &is))
        cli_fail(0, "cannot replace %s: %s (%s)", path, is.what, order);
    cli_fail(0, "cannot replace %s: it is not a %s (%s)", path, kind, order);
}

/* Ends the program if the file is not a filter. A damaged filter and an empty file are accepted.
 * Returns the error of opening it, or 0. */
static int check_is_filter(const char *path)
{
    bloomfile_filter *f;
    int error = opening_any(&f, path, 0);
    if (error == 0)
        bloomfile_close(f);
    if (error == BLOOMFILE_EMAGIC || (error == BLOOMFILE_ETRUNCATED && has_no_header(path)))
        fail_for_kind(path, "filter");
    return error;
}

/* check_is_filter() for a patch. */
static int check_is_patch(const char *path)
{
    uint8_t start[HEADER_LEAST];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno;
    const ssize_t size = read(fd, start, sizeof(start));
    const int error = size < 0 ? errno : 0;
    close(fd);
    if (size > 0 && !input_type_is_patch(start, (size_t)size))
        fail_for_kind(path, "patch");
    return error;
}

/* Replacing a layer of a series would leave the other layers incomplete. The header of the layer
 * may be damaged. */
static void check_is_no_series(const char *path)
{
    char why[SERIES_TEXT];
    if (series_holds(path, why) || series_claims(path, why))
        cli_fail(0, "cannot replace %s: %s", path, why);
}

static void check_unused(const char *path)
{
    bool have;
    const int error = writers_have_file(path, &have);
    if (error != 0)
        cli_fail(error, "cannot replace %s: cannot check whether other programs are adding to it",
                 path);
    if (have)
        cli_fail(0,
                 "cannot replace %s: other programs have it open for writing, and the keys they "
                 "add would be lost (write to another file)",
                 path);
}

/* `check_kind` ends the program if the file is of another kind, and returns the error
 * of opening it. */
static void check(const char *path, bool force, int (*check_kind)(const char *path))
{
    struct stat st;
    if (stat(path, &st) != 0) {
        if (errno != ENOENT)
            message_cannot_create(path, errno);
        check_new(path);
        return;
    }
    if (!S_ISREG(st.st_mode))
        message_cannot_create(path, S_ISDIR(st.st_mode) ? EISDIR : BLOOMFILE_ENOTREGULAR);
    const int error = check_kind(path);
    check_is_no_series(path);
    if (!force)
        message_cannot_create(path, EEXIST);
    if (error == EACCES)
        cli_fail(error, "cannot replace %s", path);
    const bool is_link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    char *resolved = is_link ? realpath(path, NULL) : strdup(path);
    if (resolved == NULL)
        message_cannot_create(path, errno);
    if (mount_is_point(AT_FDCWD, resolved))
        cli_fail(0,
                 "cannot replace %s: it is a mount point (mount the folder of the file, or replace "
                 "the file outside the mount)",
                 path);
    check_folder(path, resolved);
    free(resolved);
}

static struct replace_only held;

void target_hold(const char *path)
{
    int fd, error = replace_open(path, &fd);
    if (error == 0)
        error = replace_only_note(&held, fd);
    if (error == 0)
        error = bloomfile_thread_replaces_only(fd);
    if (error != 0)
        message_cannot_create(path, error);
    if (fd >= 0)
        close(fd);
}

int target_write(const char *path, const void *bytes, size_t size, bool force)
{
    return force ? whole_file_replace_only(path, bytes, size, &held)
                 : whole_file_write(path, bytes, size, false);
}

_Noreturn void target_fail_changed(const char *path)
{
    cli_fail(0,
             "cannot replace %s: another process changed it during the run, and the keys that it "
             "added would be lost (write to another file)",
             path);
}

static struct replace_only first;

void target_check(const char *path, bool force)
{
    first = held;
    check(path, force, check_is_filter);
    check_unused(path);
}

void target_check_unchanged(const char *path)
{
    bloomfile_filter *f;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct stat now;
    int fd, error = replace_open(path, &fd);
    if (error == 0 && fd >= 0)
        error = fstat(fd, &now) != 0 ? errno : replace_only_check(&first, &now, fd);
    if (fd >= 0)
        close(fd);
    if (error == 0)
        return;
    if (error != BLOOMFILE_EREPLACED)
        message_cannot_create(path, error);
    error = opening_any(&f, path, 0);
    if (error == 0) {
        bloomfile_get_info(f, &info);
        bloomfile_close(f);
    }
    if (error == 0 ? info.state == BLOOMFILE_STATE_LIVE : error != BLOOMFILE_EEMPTY)
        target_fail_changed(path);
}

void target_check_patch(const char *path, bool force)
{
    check(path, force, check_is_patch);
}

void target_check_old_patch(const char *path)
{
    check_is_patch(path);
}

void target_check_old(const char *path)
{
    check_is_filter(path);
    check_is_no_series(path);
    check_unused(path);
}

/* ---- Writers of a live filter, detected by their locks. */

/* Each writer holds a lock on the first byte (doc/format/live.md). A file system without such
 * locks, or one that other hosts share, has no live files. */
int writers_have(int fd, bool *have)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    bool layered;
    const int error = fcntl(fd, F_OFD_GETLK, &lock) == 0 ? 0 : errno;
    *have = error == 0 && lock.l_type != F_UNLCK;
    return filesystem_check(fd, &layered) == BLOOMFILE_EFILESYSTEM || error == EINVAL ? 0 : error;
}

int writers_have_file(const char *path, bool *have)
{
    int fd;
    *have = false;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    const int error = writers_have(fd, have);
    close(fd);
    return error;
}
