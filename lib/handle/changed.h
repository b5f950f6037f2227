/* SPDX-License-Identifier: MIT
 * Whether a file is still what it was when it was opened. */
#ifndef BLOOMFILE_CHANGED_H
#define BLOOMFILE_CHANGED_H

#include <sys/stat.h>

#include "handle/handle.h"

/* Remembers which file it is, and what it looks like. 0 or ENOMEM. */
int changed_note(bloomfile *f, const char *path, const struct stat *status);

/* Whether the mapped header is no longer the one that was opened, or gone; of a live filter what
 * others do not change in it. Never true of a copy. */
bool changed_header(const bloomfile *f);

/* What keeps the body from being relied on, as bloomfile_status() tells it; 0: nothing known. */
int changed_or_damaged(const bloomfile *f);

/* The same without a look at the header, which takes a system call. */
int changed_or_damaged_so_far(const bloomfile *f);

#endif
