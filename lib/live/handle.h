/* SPDX-License-Identifier: MIT
 * The handle: a valid header, the bytes behind it, and the code that reads them. */
#ifndef BLOOMFILE_LIVE_HANDLE_H
#define BLOOMFILE_LIVE_HANDLE_H

#include <bloomfile.h>
#include <sys/types.h>
#include <time.h>

#include "format/header.h"
#include "format/layout.h"
#include "image/guard.h"
#include "kernel/kernel.h"
#include "live/session.h"
#include "os/file.h"
#include "os/map.h"
#include "publish/publish.h"

/* What identifies a file. */
struct file_looks {
    dev_t device;
    ino_t inode;
    off_t size;
    bool final;                        /* sealed when it was opened: its times do not change */
    struct timespec modified, touched; /* its contents; those, or its owner, mode or links */
};

struct series;

struct bloomfile {
    struct kernel_view view;                                           /* owns `shapes` */
    bool (*contains)(const struct kernel_view *view, uint64_t digest); /* the kernel's */
    const struct kernel *kernel;
    struct guard *guard;     /* the part that lookups may write */
    const uint8_t *live;     /* the mapped header of a live file; NULL: sealed */
    const uint8_t *state[2]; /* where its records say what they are */
    struct session *session; /* of a live file */
    struct series *series; /* the layers; NULL: one filter. Of what else is here, it has the header
                              of the first layer, and `guard` as one that is always in doubt */
    int fd;                /* of a live file, which nobody else has; else -1 */
    struct file_identity own; /* of `fd` */
    bool writing;             /* one of the file's writers */
    bool in_memory;           /* live, and ends with the processes that have it */
    int finished;             /* result of bloomfile_finish() */
    bool exact;               /* BLOOMFILE_ADD_EXACT */
    bool alone;               /* BLOOMFILE_SOLE_ADDER */
    uint64_t limit;           /* of keys, of one that is open for writing: capacity_limit() */
    bool accept_unclean;      /* BLOOMFILE_ACCEPT_UNCLEAN */
    bool copied;              /* BLOOMFILE_COPY: the file may change */
    bool app_hash;            /* the application hashes: keys have no digest here */
    bool unnamed;             /* the application's hash is not named yet: digests mean nothing */
    struct header header;     /* as it was when opened */
    struct geometry geometry;
    struct map map;
    char *path;               /* NULL: not opened by path */
    int folder;               /* a descriptor that `path` goes through; -1: none */
    struct file_looks file;   /* of the path */
    struct publish_only only; /* what is made of it may replace: bloomfile_replace_only() */
    struct guard guard_storage;
};

#endif
