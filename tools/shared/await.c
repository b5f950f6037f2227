/* SPDX-License-Identifier: MIT
 * poll() where read() does not wait. */
#include "shared/await.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

ssize_t await_read(int fd, void *to, size_t size)
{
    ssize_t n;
    while ((n = read(fd, to, size)) < 0) {
        if (errno == EAGAIN)
            poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
        else if (errno != EINTR)
            return n;
    }
    return n;
}
