/* SPDX-License-Identifier: MIT
 * Detection of files that were changed or replaced since they were opened. */
#ifndef BLOOMFILE_LIVE_FILE_CHANGE_H
#define BLOOMFILE_LIVE_FILE_CHANGE_H

#include <sys/stat.h>

#include "live/handle.h"

/* Remembers the file's identity and looks, as they were before its header was read. 0 or ENOMEM. */
int changed_note(bloomfile_filter *f, const char *path, const struct stat *status);

/* The same for a sealed layer in the file of the first one. */
int changed_note_layer(bloomfile_filter *layer, const bloomfile_filter *first);

/* The same for a writer that has sealed its file in place. */
void changed_note_sealed(bloomfile_filter *f);

/* Whether the mapped header is gone or no longer the one that was opened; for a live filter, the
 * part that others never change. Never true for a copy. */
bool changed_header(const bloomfile_filter *f);

/* Whether a sealed file that was opened by path has been written to since, by size and time of
 * modification. If only its time of status change is another, pages are checked again from now on.
 * Never true for a copy. */
bool changed_in_place(const bloomfile_filter *f);

/* The same right after the opening, for a file that may have been sealed in place meanwhile. */
bool changed_while_opened(const bloomfile_filter *f);

/* Whether the path is to be opened anew, as bloomfile_is_stale() says. */
bool changed_is_stale(const bloomfile_filter *f);

/* Why the body cannot be trusted, as bloomfile_check() returns it; 0: no reason known. */
int changed_or_damaged(const bloomfile_filter *f);

/* The same without a look at the header, which takes a system call. */
int changed_or_damaged_so_far(const bloomfile_filter *f);

#endif
