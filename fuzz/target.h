/* SPDX-License-Identifier: MIT
 * Functions that all fuzz targets share. */
#ifndef BLOOMFILE_FUZZ_TARGET_H
#define BLOOMFILE_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void expect(bool condition)
{
    if (!condition)
        abort();
}

/* Copies data to memory of the exact size, so that sanitizers catch overreads. */
static inline uint8_t *copy_of(const void *data, size_t size)
{
    uint8_t *copy = calloc(size > 0 ? size : 1, 1);
    expect(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

/* Returns a descriptor of a file without a name, with the offset at its beginning. */
static inline int fd_of(const void *data, size_t size)
{
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    expect(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

#endif
