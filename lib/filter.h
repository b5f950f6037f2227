/* SPDX-License-Identifier: MIT
 * The handle: a valid header, the bytes behind it, and the code that reads them. */
#ifndef BLOOMFILE_FILTER_H
#define BLOOMFILE_FILTER_H

#include <bloomfile.h>
#include <sys/types.h>

#include "geometry.h"
#include "guard.h"
#include "header.h"
#include "kernel.h"
#include "map.h"

struct bloomfile {
    const struct kernel *kernel;
    const uint8_t *body;
    uint64_t units;
    struct guard *guard; /* what a lookup may write to */
    struct header header;
    struct geometry geometry;
    struct map map;
    char *path; /* NULL: not opened by path */
    dev_t device;
    ino_t inode;
    struct guard guard_storage;
};

#endif
