/* SPDX-License-Identifier: MIT
 * read() and write() that wait, by poll(), where the descriptor does not block. */
#include "cli/await.h"

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

bool await_write(int fd, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = write(fd, (const char *)bytes + done, size - done);
        if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
        else if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}
