/* SPDX-License-Identifier: MIT
 * Names of temporary files. A lock by flock() shows that the process that created a file is
 * alive. */
#include "publish/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIXED TEMPORARY_FIXED

static void format(uint64_t number, char name[TEMPORARY_NAME_SIZE])
{
    snprintf(name, TEMPORARY_NAME_SIZE, ".bloomfile.%012llx.tmp",
             (unsigned long long)(number & 0xFFFFFFFFFFFF));
}

int temporary_name(unsigned attempt, char name[TEMPORARY_NAME_SIZE])
{
    uint64_t number = attempt;
    if (attempt >= FIXED && getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return errno;
    format(attempt < FIXED ? number : number | FIXED, name);
    return 0;
}

bool temporary_hold(unsigned attempt, int fd)
{
    return attempt >= FIXED || flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void temporary_let_go(int fd)
{
    flock(fd, LOCK_UN);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int temporary_check(int directory, const char *name, int fd)
{
    struct stat own, named;
    if (fstat(fd, &own) != 0 || fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    return is_same(&own, &named) ? 0 : EBUSY;
}

/* While this lock is held, no other process removes the file, so the name cannot pass to another
 * file. */
static bool is_left_behind(int directory, const char *name, int fd)
{
    struct stat status, named;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    if (status.st_uid != geteuid() || flock(fd, LOCK_EX | LOCK_NB) != 0)
        return false;
    return fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&named, &status);
}

static void clean(int directory, const char *name)
{
    if (faccessat(directory, name, F_OK, 0) != 0)
        return;
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (is_left_behind(directory, name, fd))
        unlinkat(directory, name, 0);
    close(fd);
}

void temporary_clean(int directory)
{
    char name[TEMPORARY_NAME_SIZE];
    for (unsigned number = 0; number < FIXED; number++) {
        format(number, name);
        clean(directory, name);
    }
}
