/* SPDX-License-Identifier: MIT
 * Detection of files that were changed or replaced since they were opened. */
#ifndef BLOOMFILE_LIVE_FILE_CHANGE_H
#define BLOOMFILE_LIVE_FILE_CHANGE_H

#include <sys/stat.h>

#include "live/handle.h"

/* Remembers path, identity, size and times from before the header was read. 0 or an errno. */
int changed_note(bloomfile_filter *f, const char *path, const struct stat *status);

/* The same for a sealed layer, which is in the first layer's file. 0 or ENOMEM. */
int changed_note_layer(bloomfile_filter *layer, const bloomfile_filter *first);

/* The same for a writer that has sealed its file in place. */
void changed_note_sealed(bloomfile_filter *f);

/* Whether the mapped header cannot be read, or differs from the header at opening. In a live filter
 * only the parts that its writers do not change are compared. Never true for a copy. */
bool changed_header(const bloomfile_filter *f);

/* Whether a sealed file that was opened by path was written to since: its size or time of
 * modification differs. If only its time of status change differs, all pages will be checked again.
 * Never true for a copy. */
bool changed_in_place(const bloomfile_filter *f);

/* The same right after the opening, for a file that may have been sealed in place during it. */
bool changed_while_opened(const bloomfile_filter *f);

/* Whether the path has to be opened again, as bloomfile_is_stale() defines it. */
bool changed_is_stale(const bloomfile_filter *f);

/* Why the body cannot be trusted, as bloomfile_check() returns it. 0: no reason known. */
int changed_or_damaged(const bloomfile_filter *f);

/* The same without looking at the header, which takes a system call. */
int changed_or_damaged_so_far(const bloomfile_filter *f);

#endif
