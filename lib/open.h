/* SPDX-License-Identifier: MIT
 * Opening and closing. */
#ifndef BLOOMFILE_FILTER_H
#define BLOOMFILE_FILTER_H

#include <sys/stat.h>

#include "handle/handle.h"

/* Makes a handle from a valid header and a mapping, which it owns from here on, also on failure.
 * Shared by open and create. */
int filter_new(bloomfile **out, const struct header *h, struct map *map, unsigned flags);

/* Makes it a writer of a live file; it owns fd from here on, also on failure. */
int filter_make_writer(bloomfile *f, int fd, unsigned flags);

#endif
