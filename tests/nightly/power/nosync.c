/* SPDX-License-Identifier: MIT
 * An msync for power-writer-nosync that returns 0 without writing. Keys must be lost; otherwise
 * the test would not notice a library that never syncs. */
#include <stddef.h>

int __wrap_msync(void *address, size_t size, int flags);

int __wrap_msync(void *address, size_t size, int flags)
{
    (void)address;
    (void)size;
    (void)flags;
    return 0;
}
