/* SPDX-License-Identifier: MIT
 * Opening a single image, or a layer of a series: the caller's expectations, and the report of a
 * failure. */
#ifndef BLOOMFILE_OPENING_H
#define BLOOMFILE_OPENING_H

#include <bloomfile_open.h>
#include <sys/stat.h>

#include "live/handle.h"

/* Why an image could not be opened: struct bloomfile_open_report without its path. */
struct report {
    size_t struct_size;
    int error, file_error, reason;
    uint32_t reserved;
    uint64_t slot, layer, found, image_offset, offset;
    const char *field;
};

struct opening {
    unsigned flags;                               /* BLOOMFILE_OPEN_*, valid */
    bool named;                                   /* the caller named the application's hash */
    const struct bloomfile_open_params *expected; /* NULL: nothing */
    struct report *report;                        /* or NULL */
};

/* Makes a handle from a valid header and a mapping. Takes ownership of the mapping, even on
 * failure. */
ONCE_A_FILE int opening_new(bloomfile_filter **out, const struct header *h, struct map *map,
                            const struct opening *how);

/* Makes the handle a writer of a live file. Takes ownership of fd, even on failure. */
ONCE_A_FILE int opening_join(bloomfile_filter *f, int fd, unsigned flags);

/* Opens the image at a path. *rest: a descriptor of the file if it is sealed and has more layers
 * after this image, else -1. The caller closes it, even after a failure. */
ONCE_A_FILE int opening_by_path(bloomfile_filter **out, const char *path, const struct opening *how,
                                int *rest);

/* Opens the image at `offset`. The image, or the series of which it is the first layer, must be
 * `length` bytes long. */
ONCE_A_FILE int opening_range(bloomfile_filter **out, int fd, const struct stat *status,
                              uint64_t offset, uint64_t length, const struct opening *how);

/* Opens the image in `size` bytes of memory. */
ONCE_A_FILE int opening_memory(bloomfile_filter **out, const void *image, size_t size,
                               const struct opening *how);

#endif
