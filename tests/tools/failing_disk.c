/* SPDX-License-Identifier: MIT
 *
 * A module for LD_PRELOAD that simulates bad disks. Environment variables control it:
 *
 *   DISK_FAILS    a path; while it exists, msync() fails with EIO
 *   DISK_WORKS    how many calls of msync() succeed although DISK_FAILS exists
 *   DISK_KILLS    if set, msync() kills the process instead of failing
 *   DISK_FORGETS  if set, reads from a file without a name return a zero as their first byte, as
 *                 after a page that could not be written
 *   DISK_HIDES    how many calls of pread() succeed before one fails with EIO
 *   DISK_STALLS   if set, write() to standard output writes nothing and returns 0
 *   DISK_SHRINKS  a file that is cut to 4096 bytes when the program is about to scan it
 *   DISK_CLOSES   if set, closing standard output fails with ENOSPC, as on a network file system
 *   DISK_REMOVES  a file that is removed in the third call of msync()
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int msync(void *address, size_t size, int flags)
{
    static int calls;
    const char *trigger = getenv("DISK_FAILS"), *works = getenv("DISK_WORKS");
    if (trigger != NULL && access(trigger, F_OK) == 0 &&
        calls++ >= (works != NULL ? atoi(works) : 0)) {
        if (getenv("DISK_KILLS") != NULL)
            raise(SIGKILL);
        errno = EIO;
        return -1;
    }
    static int synced;
    const char *removes = getenv("DISK_REMOVES");
    if (removes != NULL && synced++ == 2 && unlink(removes) != 0)
        return -1;
    return (int)syscall(SYS_msync, address, size, flags);
}

int close(int fd)
{
    const int result = (int)syscall(SYS_close, fd);
    if (fd != STDOUT_FILENO || getenv("DISK_CLOSES") == NULL)
        return result;
    errno = ENOSPC;
    return -1;
}

int madvise(void *address, size_t size, int advice)
{
    const char *shrinks = getenv("DISK_SHRINKS");
    if (shrinks != NULL && advice == MADV_SEQUENTIAL && truncate(shrinks, 4096) != 0)
        return -1;
    return (int)syscall(SYS_madvise, address, size, advice);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t at)
{
    static int reads;
    struct stat status;
    const char *hides = getenv("DISK_HIDES");
    if (hides != NULL && reads++ == atoi(hides)) {
        errno = EIO;
        return -1;
    }
    ssize_t got = syscall(SYS_pread64, fd, bytes, size, at);
    if (got > 0 && getenv("DISK_FORGETS") != NULL && fstat(fd, &status) == 0 &&
        status.st_nlink == 0)
        *(uint8_t *)bytes = 0;
    return got;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    if (fd == STDOUT_FILENO && getenv("DISK_STALLS") != NULL)
        return 0;
    return syscall(SYS_write, fd, bytes, size);
}
