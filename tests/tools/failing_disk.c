/* SPDX-License-Identifier: MIT
 *
 * For LD_PRELOAD: while the file named by DISK_FAILS exists, msync() fails as it does when the disk
 * could not be written, but for the first DISK_WORKS calls; if DISK_KILLS is set, it kills. If
 * DISK_FORGETS is set, what is read from files without a name begins with a zero byte, as after a
 * page that could not be written. The file named by DISK_SHRINKS loses what it has beyond 4096
 * bytes when it is about to be scanned, and the one named by DISK_REMOVES its name in the third
 * call of msync().
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

int madvise(void *address, size_t size, int advice)
{
    const char *shrinks = getenv("DISK_SHRINKS");
    if (shrinks != NULL && advice == MADV_SEQUENTIAL && truncate(shrinks, 4096) != 0)
        return -1;
    return (int)syscall(SYS_madvise, address, size, advice);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t at)
{
    struct stat status;
    ssize_t got = syscall(SYS_pread64, fd, bytes, size, at);
    if (got > 0 && getenv("DISK_FORGETS") != NULL && fstat(fd, &status) == 0 &&
        status.st_nlink == 0)
        *(uint8_t *)bytes = 0;
    return got;
}
