/* SPDX-License-Identifier: MIT
 *
 * For power-writer-nosync: an msync that only claims to have written. Keys must be lost, or the
 * test could not tell a library that syncs from one that does not.
 */
#include <stddef.h>

int __wrap_msync(void *address, size_t size, int flags);

int __wrap_msync(void *address, size_t size, int flags)
{
    (void)address;
    (void)size;
    (void)flags;
    return 0;
}
