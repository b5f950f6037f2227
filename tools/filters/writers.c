/* SPDX-License-Identifier: MIT
 * Writers of a live filter, by the lock that each of them holds. */
#include "filters/writers.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* They hold a lock on the first byte (format-spec.md, section 13). */
bool writers_have(int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool writers_have_file(const char *path)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return false;
    bool have = writers_have(fd);
    close(fd);
    return have;
}
