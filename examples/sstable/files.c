/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

char *file_path(const char *directory, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", directory, name) == -1 ? NULL : path;
}

int read_file(const char *path, char *data, size_t room, size_t *size)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd == -1)
        return errno;
    ssize_t got = 1;
    for (*size = 0; *size < room && got > 0; *size += (size_t)got) {
        got = read(fd, data + *size, room - *size);
        if (got == -1)
            break;
    }
    const int error = got == -1 ? errno : got > 0 ? EFBIG : 0;
    close(fd);
    return error;
}

int write_all(int fd, const void *data, size_t size)
{
    for (const char *next = data; size > 0;) {
        const ssize_t written = write(fd, next, size);
        if (written == -1 && errno == EINTR)
            continue;
        if (written == -1)
            return errno;
        next += written;
        size -= (size_t)written;
    }
    return 0;
}

int write_file(const char *path, const void *data, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd == -1)
        return errno;
    int error = write_all(fd, data, size);
    if (error == 0 && fsync(fd) == -1)
        error = errno;
    close(fd);
    if (error != 0)
        unlink(path);
    return error;
}

int sync_directory(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1)
        return errno;
    const int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return error;
}
