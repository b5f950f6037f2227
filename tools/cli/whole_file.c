/* SPDX-License-Identifier: MIT
 * Atomic file creation: write to a temporary name, then rename. */
#include "cli/whole_file.h"
#include "cli/cli.h"
#include "os/file.h"
#include "publish/replace.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY ".bloomfile.XXXXXX"

/* Sets the rights of the file that is replaced, or the mode that open() would give a new file:
 * mkostemp() uses 0600. */
static int set_rights(int fd, const char *path, bool replace)
{
    struct rights_of old = { .directory = AT_FDCWD, .name = path, .path = path };
    if (replace && lstat(path, &old.status) == 0)
        return rights_keep(fd, &old);
    if (replace && errno != ENOENT)
        return errno;
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, 0666 & ~mask) == 0 ? 0 : errno;
}

static int fill(int fd, const char *path, const void *bytes, size_t size, bool replace)
{
    const int error = set_rights(fd, path, replace);
    return error != 0 || (await_write(fd, bytes, size) && fsync(fd) == 0) ? error : errno;
}

/* Sets the rights again: those of the file that is replaced may have changed. */
static int rename_over(int fd, const char *temporary, const char *path,
                       const struct replace_only *only)
{
    int claim = -1;
    int error = replace_lock(AT_FDCWD, path, only, &claim);
    if (error == 0)
        error = set_rights(fd, path, true);
    if (error == 0 && rename(temporary, path) != 0)
        error = errno;
    replace_unlock(claim);
    return error;
}

/* only: NULL if no file may be replaced. */
static int give_name(int fd, const char *temporary, const char *path,
                     const struct replace_only *only)
{
    static const struct replace_only none = { .wanted = true };
    const struct replace_only *may = only != NULL ? only : &none;
    int error = EINVAL; /* also if the file system lacks RENAME_NOREPLACE */
    if (may->wanted && !may->exists)
        error = renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0 ? 0 : errno;
    if (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP)
        error = rename_over(fd, temporary, path, may);
    if (error == EEXIST || error == BLOOMFILE_EREPLACED)
        error = only != NULL ? BLOOMFILE_EREPLACED : EEXIST;
    return error;
}

static char *temporary_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    int folder = slash == NULL ? 0 : (int)(slash - path + 1);
    char *name;
    return asprintf(&name, "%.*s" TEMPORARY, folder, path) >= 0 ? name : NULL;
}

/* Signals are blocked while the temporary file exists, so that it is not left behind. */
static int write_at(const char *path, const void *bytes, size_t size,
                    const struct replace_only *only)
{
    char *temporary = temporary_beside(path);
    sigset_t all, before;
    if (temporary == NULL)
        return ENOMEM;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    const int fd = mkostemp(temporary, O_CLOEXEC);
    int error = fd < 0 ? errno : fill(fd, path, bytes, size, only != NULL);
    if (error == 0)
        error = give_name(fd, temporary, path, only);
    if (fd >= 0 && error != 0)
        unlink(temporary);
    if (fd >= 0)
        close(fd);
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(temporary);
    return error == 0 ? file_flush_directory(path) : error;
}

static int write_whole(const char *path, const void *bytes, size_t size,
                       const struct replace_only *only)
{
    char *real = realpath(path, NULL);
    if (real == NULL && errno == ENOENT)
        real = strdup(path);
    if (real == NULL)
        return errno;
    const int error = write_at(real, bytes, size, only);
    free(real);
    return error;
}

int whole_file_write(const char *path, const void *bytes, size_t size, bool replace)
{
    static const struct replace_only any;
    return write_whole(path, bytes, size, replace ? &any : NULL);
}

int whole_file_replace_only(const char *path, const void *bytes, size_t size,
                            const struct replace_only *only)
{
    return write_whole(path, bytes, size, only);
}
