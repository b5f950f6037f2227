/* SPDX-License-Identifier: MIT
 * By madvise(MADV_WIPEONFORK). */
#include "os/wiped.h"

#include <errno.h>
#include <sys/mman.h>

int wiped_new(void **out, size_t size)
{
    *out = NULL;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    if (madvise(memory, size, MADV_WIPEONFORK) != 0) {
        int error = errno;
        munmap(memory, size);
        return error;
    }
    *out = memory;
    return 0;
}

void wiped_free(void *memory, size_t size)
{
    if (memory != NULL)
        munmap(memory, size);
}
