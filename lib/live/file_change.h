/* SPDX-License-Identifier: MIT
 * Detecting files that were changed or replaced since they were opened. */
#ifndef BLOOMFILE_LIVE_FILE_CHANGE_H
#define BLOOMFILE_LIVE_FILE_CHANGE_H

#include <sys/stat.h>

#include "live/handle.h"

/* Records path, identity, size and times from before the header was read. Returns 0 or an errno. */
int changed_note(bloomfile_filter *f, const char *path, const struct stat *status);

/* changed_note() for a sealed layer, which is in the first layer's file. Returns 0 or ENOMEM. */
int changed_note_layer(bloomfile_filter *layer, const bloomfile_filter *first);

/* changed_note() for a writer that has sealed its file in place. */
void changed_note_sealed(bloomfile_filter *f);

/* Returns whether the mapped header cannot be read, or differs from the header at opening. In a
 * live filter only the parts that its writers do not change are compared. Never true for a copy. */
bool changed_header(const bloomfile_filter *f);

/* Returns whether a sealed file that was opened by path was written to since then: its size or
 * mtime differs. If only its ctime differs, returns false, and all pages will be checked again. If
 * the path cannot be looked up, or the mtime of a file with an unfinished seal differs, checks the
 * pages that answers relied on. Never true for a copy. */
bool changed_in_place(const bloomfile_filter *f);

/* changed_in_place() right after opening, for a file that may have been sealed in place
 * meanwhile. */
bool changed_while_opened(const bloomfile_filter *f);

/* Returns whether the path has to be opened again, as bloomfile_is_stale() defines it. */
bool changed_is_stale(const bloomfile_filter *f);

/* Returns the error of bloomfile_check(): the reason why the body cannot be trusted, or 0. */
int changed_or_damaged(const bloomfile_filter *f);

/* Returns whether the file was overwritten, or is too short, so that reading its end would raise
 * SIGBUS. If so, all later lookups answer "maybe". */
bool changed_now(const bloomfile_filter *f);

/* Returns BLOOMFILE_ECHANGED if changed_now() is true or an earlier call found a change, else 0. */
int changed_before_reading(const bloomfile_filter *f);

/* The error known so far, without examining the file, which takes system calls. */
int changed_or_damaged_so_far(const bloomfile_filter *f);

#endif
