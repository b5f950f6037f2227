/* SPDX-License-Identifier: MIT
 * fallocate(), or zeros. Either would fill a disk that is too small before it fails, so that other
 * programs find it full; the free space is compared first. */
#include "os/allocate.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/file.h"

/* False if that is not known: some file systems of FUSE, and a tmpfs without a limit, report no
 * size. Quotas are not looked at. */
static bool lacks_room(int fd, uint64_t size)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0 || disk.f_frsize == 0)
        return false;
    const uint64_t blocks = geteuid() == 0 ? disk.f_bfree : disk.f_bavail;
    return size / disk.f_frsize > blocks;
}

static int reserve_blocks(int fd, uint64_t size)
{
    int result;
    do
        result = fallocate(fd, 0, 0, (off_t)size);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

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
    if (!file_size_is_allowed(size))
        return EFBIG;
    const bool lacking = lacks_room(fd, size);
    if (lacking && reserve)
        return ENOSPC;
    const int error = reserve_blocks(fd, lacking ? 1 : size);
    if (error == 0)
        return lacking ? ENOSPC : 0;
    if (error != EOPNOTSUPP && error != ENOSYS)
        return error;
    return reserve ? write_zeros(fd, size) : 0;
}
