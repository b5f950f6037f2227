/* SPDX-License-Identifier: MIT
 * Opening and closing. */
#ifndef BLOOMFILE_FILTER_H
#define BLOOMFILE_FILTER_H

#include <sys/stat.h>

#include "handle/handle.h"

/* What open and create share: makes a handle of a valid header and a mapping, which is its own from
 * here on, also on failure. */
int filter_new(bloomfile **out, const struct header *h, struct map *map, unsigned flags);

/* Makes it a writer of a live file; fd is its own from here on, also on failure. */
int filter_make_writer(bloomfile *f, int fd, unsigned flags);

#endif
