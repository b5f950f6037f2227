/* SPDX-License-Identifier: MIT
 *
 * For LD_PRELOAD: while the file named by DISK_FAILS exists, msync() fails as it does when the disk
 * could not be written, but for the first DISK_WORKS calls.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int msync(void *address, size_t size, int flags)
{
    static int calls;
    const char *trigger = getenv("DISK_FAILS"), *works = getenv("DISK_WORKS");
    if (trigger != NULL && access(trigger, F_OK) == 0 &&
        calls++ >= (works != NULL ? atoi(works) : 0)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_msync, address, size, flags);
}
