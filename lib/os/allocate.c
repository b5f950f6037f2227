/* SPDX-License-Identifier: MIT
 * fallocate(), or zeros. */
#include "os/allocate.h"

#include <errno.h>
#include <fcntl.h>

#include "os/file.h"

static int write_zeros(int fd, uint64_t size)
{
    static const uint8_t zeros[1 << 16];
    int error = 0;
    for (uint64_t at = 0; at < size && error == 0; at += sizeof zeros) {
        uint64_t rest = size - at;
        error = file_write(fd, at, zeros, rest < sizeof zeros ? (size_t)rest : sizeof zeros);
    }
    return error;
}

int allocate_file(int fd, uint64_t size, bool reserve)
{
    int result;
    do
        result = fallocate(fd, 0, 0, (off_t)size);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    return reserve ? write_zeros(fd, size) : 0;
}
