/* SPDX-License-Identifier: MIT
 * Locks on bytes of a file, by fcntl(F_OFD_SETLK). */
#include "live/lock_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int control(int fd, int command, struct flock *lock)
{
    int result;
    do
        result = fcntl(fd, command, lock);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? EBUSY : errno;
}

static struct flock on_bytes(uint64_t byte, uint64_t count, bool exclusive)
{
    return (struct flock){ .l_type = exclusive ? F_WRLCK : F_RDLCK,
                           .l_whence = SEEK_SET,
                           .l_start = (off_t)byte,
                           .l_len = (off_t)count };
}

int lock_try(int fd, uint64_t byte, bool exclusive)
{
    struct flock lock = on_bytes(byte, 1, exclusive);
    return control(fd, F_OFD_SETLK, &lock);
}

int lock_wait(int fd, uint64_t byte, uint64_t count)
{
    struct flock lock = on_bytes(byte, count, true);
    return control(fd, F_OFD_SETLKW, &lock);
}

int lock_wait_shared(int fd, uint64_t byte)
{
    struct flock lock = on_bytes(byte, 1, false);
    return control(fd, F_OFD_SETLKW, &lock);
}

void lock_drop(int fd, uint64_t byte, uint64_t count)
{
    struct flock lock = on_bytes(byte, count, true);
    lock.l_type = F_UNLCK;
    control(fd, F_OFD_SETLK, &lock);
}

/* Sets *held to whether a lock of another open file description conflicts with this lock. */
static int is_in_the_way(int fd, uint64_t byte, bool exclusive, bool *held)
{
    struct flock lock = on_bytes(byte, 1, exclusive);
    int error = control(fd, F_OFD_GETLK, &lock);
    *held = lock.l_type != F_UNLCK;
    return error;
}

int lock_held_by_others(int fd, uint64_t byte, bool *held)
{
    return is_in_the_way(fd, byte, true, held);
}

int lock_held_exclusively(int fd, uint64_t byte, bool *held)
{
    return is_in_the_way(fd, byte, false, held);
}
