/* SPDX-License-Identifier: MIT
 * Opening and closing one image, which may be a layer of a series; the flags are those of
 * bloomfile_open(), and valid. */
#ifndef BLOOMFILE_OPENING_H
#define BLOOMFILE_OPENING_H

#include <sys/stat.h>

#include "live/handle.h"

/* Makes a handle from a valid header and a mapping, which it owns from here on, also on failure. */
int opening_new(bloomfile_filter **out, const struct header *h, struct map *map, unsigned flags);

/* Makes it a writer of a live file; it owns fd from here on, also on failure. */
int opening_join(bloomfile_filter *f, int fd, unsigned flags);

/* *rest: a descriptor of the file for the caller to close, also on failure, if other layers are
 * behind the image, which takes a sealed file; else -1. */
int opening_by_path(bloomfile_filter **out, const char *path, unsigned flags, int *rest);

/* The image at `offset`, which must end `length` bytes behind that, or the series that it begins.
 */
int opening_range(bloomfile_filter **out, int fd, const struct stat *status, uint64_t offset,
                  uint64_t length, unsigned flags);

/* The same in `size` bytes of memory. */
int opening_memory(bloomfile_filter **out, const void *image, size_t size, unsigned flags);

#endif
