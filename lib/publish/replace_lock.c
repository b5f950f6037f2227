/* SPDX-License-Identifier: MIT
 * The right to replace a file: a lock on the old file. A holder keeps it for microseconds, unless
 * it is stopped; a program of the user may hold one for as long as this process runs (flock FILE
 * COMMAND). */
#include "publish/replace_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 1000 /* one a millisecond */

/* Opens regular files only: opening a device may do something. */
static int open_old(int directory, const char *name, int *fd)
{
    struct stat status;
    *fd = -1;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    if (!S_ISREG(status.st_mode))
        return 0;
    *fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return *fd >= 0 || errno == ENOENT || errno == EACCES ? 0 : errno;
}

/* EWOULDBLOCK: the name passed to another file before the lock was taken. */
static int check_name(int fd, int directory, const char *name)
{
    struct stat own, named;
    if (fstat(fd, &own) != 0 || fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? EWOULDBLOCK : errno;
    return own.st_dev == named.st_dev && own.st_ino == named.st_ino ? 0 : EWOULDBLOCK;
}

/* EWOULDBLOCK: another process has it, or had it a moment ago. */
static int try(int directory, const char *name, int *claim)
{
    int error = open_old(directory, name, claim);
    if (error != 0 || *claim < 0)
        return error;
    const bool locked = flock(*claim, LOCK_EX | LOCK_NB) == 0;
    error = locked ? check_name(*claim, directory, name) : errno;
    if (locked && error == 0)
        return 0;
    close(*claim);
    *claim = -1;
    return locked || error == EWOULDBLOCK ? error : 0;
}

int replace_lock_take(int directory, const char *name, int *claim)
{
    int error = try(directory, name, claim);
    for (unsigned i = 0; i < TRIES && error == EWOULDBLOCK; i++) {
        poll(NULL, 0, 1);
        error = try(directory, name, claim);
    }
    return error == EWOULDBLOCK ? 0 : error;
}
