/* SPDX-License-Identifier: MIT
 *
 * For LD_PRELOAD: of the calls that sync or rename or remove files, the one with the number
 * STOPS_AT, from 0, is not made; with STOPS_BY=kill the process dies there, else the call fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool stops(void)
{
    static int calls;
    const char *at = getenv("STOPS_AT"), *by = getenv("STOPS_BY");
    if (at == NULL || calls++ != atoi(at))
        return false;
    if (by != NULL && strcmp(by, "kill") == 0)
        raise(SIGKILL);
    errno = EIO;
    return true;
}

int fsync(int fd)
{
    return stops() ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    return stops() ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    return stops() ? -1 : (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

int unlinkat(int fd, const char *path, int flags)
{
    return stops() ? -1 : (int)syscall(SYS_unlinkat, fd, path, flags);
}
