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
#include "session.h"

struct bloomfile {
    const struct kernel *kernel;
    const uint8_t *body;
    uint64_t units;
    struct guard *guard; /* what a lookup may write to */
    const uint8_t *live;     /* the mapped header of a live file; NULL: sealed */
    struct session *session; /* of a writer; NULL: opened for reading */
    int fd;                  /* of a writer; -1 */
    bool exact;              /* BLOOMFILE_ADD_EXACT */
    struct header header;    /* as it was when opened */
    struct geometry geometry;
    struct map map;
    char *path; /* NULL: not opened by path */
    dev_t device;
    ino_t inode;
    struct guard guard_storage;
};

/* What open and create share: makes a handle of a valid header and a mapping, which is its own from
 * here on, also on failure. */
int filter_new(bloomfile **out, const struct header *h, struct map *map, unsigned flags);

/* Makes it a writer of a live file; fd is its own from here on, also on failure. */
int filter_make_writer(bloomfile *f, int fd, unsigned flags);

/* Remembers which file it is, for bloomfile_is_stale(). */
int filter_set_path(bloomfile *f, const char *path, const struct stat *status);

#endif
