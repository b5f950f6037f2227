/* SPDX-License-Identifier: MIT
 * Whether a file is still what it was when it was opened. */
#ifndef BLOOMFILE_CHANGED_H
#define BLOOMFILE_CHANGED_H

#include <sys/stat.h>

#include "handle/handle.h"

/* Remembers the file's identity and looks. 0 or ENOMEM. */
int changed_note(bloomfile *f, const char *path, const struct stat *status);

/* Whether the mapped header is gone or no longer the one that was opened; for a live filter, the
 * part that others never change. Never true for a copy. */
bool changed_header(const bloomfile *f);

/* Whether the path is to be opened anew, as bloomfile_is_stale() says. */
bool changed_is_stale(const bloomfile *f);

/* Why the body cannot be trusted, as bloomfile_status() returns it; 0: no reason known. */
int changed_or_damaged(const bloomfile *f);

/* The same without a look at the header, which takes a system call. */
int changed_or_damaged_so_far(const bloomfile *f);

#endif
