/* SPDX-License-Identifier: MIT
 * The failures of the disk. */
#include "disk.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int open_or_end(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0)
        err(4, "%s", path);
    return fd;
}

void disk_fail(const char *ballast)
{
    static const off_t steps[] = { 1 << 20, 1 << 12 };
    int fd = open_or_end(ballast, O_WRONLY | O_CREAT);
    off_t size = lseek(fd, 0, SEEK_END);
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        while ((errno = posix_fallocate(fd, size, steps[i])) == 0)
            size += steps[i];
        if (errno != ENOSPC)
            err(4, "%s", ballast);
    }
    close(fd);
}

void disk_write_back(const char *path)
{
    int fd = open_or_end(path, O_RDONLY);
    syncfs(fd);
    close(fd);
}

bool disk_fsync(const char *path)
{
    int fd = open_or_end(path, O_RDONLY);
    bool failed = fsync(fd) != 0;
    close(fd);
    return failed;
}

void disk_drop(const char *path)
{
    int fd = open_or_end(path, O_RDONLY);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

void disk_drop_mapped(const void *memory, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = ((uintptr_t)memory + page - 1) / page * page, end = (uintptr_t)memory + size;
    madvise((void *)start, (end - start) / page * page, MADV_PAGEOUT);
}
