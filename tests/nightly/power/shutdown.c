/* SPDX-License-Identifier: MIT
 * For LD_PRELOAD: the file system shuts down, as after an error, right after a file gets the
 * name SHUTDOWN_NAME (without its folder). Its journal is not written, so the name is lost. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GOING_DOWN      _IOR('X', 125, uint32_t) /* XFS_IOC_GOINGDOWN and EXT4_IOC_SHUTDOWN */
#define WITHOUT_JOURNAL 2

/* musl does not declare it. */
int renameat2(int from_folder, const char *from, int folder, const char *to, unsigned flags);

static int named(int result, int folder, const char *path)
{
    const char *wanted = getenv("SHUTDOWN_NAME"), *slash = strrchr(path, '/');
    uint32_t how = WITHOUT_JOURNAL;
    if (result != 0 || wanted == NULL || strcmp(slash == NULL ? path : slash + 1, wanted) != 0)
        return result;
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, (int)GOING_DOWN, &how) != 0) {
        perror("cannot shut the file system down");
        _exit(99);
    }
    close(fd);
    return result;
}

int rename(const char *from, const char *to)
{
    return named((int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0), AT_FDCWD, to);
}

int renameat(int from_folder, const char *from, int folder, const char *to)
{
    return named((int)syscall(SYS_renameat2, from_folder, from, folder, to, 0), folder, to);
}

int renameat2(int from_folder, const char *from, int folder, const char *to, unsigned flags)
{
    return named((int)syscall(SYS_renameat2, from_folder, from, folder, to, flags), folder, to);
}

int linkat(int from_folder, const char *from, int folder, const char *to, int flags)
{
    return named((int)syscall(SYS_linkat, from_folder, from, folder, to, flags), folder, to);
}
