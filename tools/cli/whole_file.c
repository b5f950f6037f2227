/* SPDX-License-Identifier: MIT
 * Atomic file creation: write to a temporary name, then rename. */
#include "cli/whole_file.h"
#include "cli/cli.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEMPORARY ".bloomfile.XXXXXX"

/* Sets the mode that open() would give a new file: mkostemp() uses 0600. */
static bool set_permissions(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, 0666 & ~mask) == 0;
}

static bool fill_temporary(char *temporary, const void *bytes, size_t size)
{
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return false;
    bool done = set_permissions(fd) && await_write(fd, bytes, size) && fsync(fd) == 0;
    int error = errno;
    if (close(fd) != 0 && done) {
        done = false;
        error = errno;
    }
    if (!done)
        unlink(temporary);
    errno = error;
    return done;
}

#ifndef RENAME_NOREPLACE /* musl lacks it */
#define RENAME_NOREPLACE (1u << 0)
static int renameat2(int from, const char *old_name, int to, const char *new_name, unsigned flags)
{
    return (int)syscall(SYS_renameat2, from, old_name, to, new_name, flags);
}
#endif

/* EINVAL: the file system lacks RENAME_NOREPLACE. Callers have checked that the name is free. */
static bool give_name(const char *temporary, const char *path, bool replace)
{
    if (!replace && renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return true;
    if ((replace || errno == EINVAL) && rename(temporary, path) == 0)
        return true;
    int error = errno;
    unlink(temporary);
    errno = error;
    return false;
}

static char *temporary_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    int folder = slash == NULL ? 0 : (int)(slash - path + 1);
    char *name;
    return asprintf(&name, "%.*s" TEMPORARY, folder, path) >= 0 ? name : NULL;
}

/* Signals are blocked while the temporary file exists, so that it is not left behind. */
static int write_at(const char *path, const void *bytes, size_t size, bool replace)
{
    char *temporary = temporary_beside(path);
    sigset_t all, before;
    if (temporary == NULL)
        return ENOMEM;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    bool done = fill_temporary(temporary, bytes, size) && give_name(temporary, path, replace);
    int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(temporary);
    return done ? file_flush_directory(path) : error;
}

int whole_file_write(const char *path, const void *bytes, size_t size, bool replace)
{
    char *real = realpath(path, NULL);
    if (real == NULL && errno == ENOENT)
        real = strdup(path);
    if (real == NULL)
        return errno;
    const int error = write_at(real, bytes, size, replace);
    free(real);
    return error;
}
