/* SPDX-License-Identifier: MIT
 * By fcntl(F_DUPFD). */
#include "os/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int file_apart(int fd)
{
    if (fd < 0 || fd >= FILE_LEAST)
        return fd;
    const int apart = fcntl(fd, F_DUPFD_CLOEXEC, FILE_LEAST), error = errno;
    close(fd);
    errno = error;
    return apart;
}
