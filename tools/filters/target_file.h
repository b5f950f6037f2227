/* SPDX-License-Identifier: MIT
 * Checking the file that a tool is about to create; detecting programs that add to a live
 * filter. */
#ifndef TOOLS_FILTERS_TARGET_FILE_H
#define TOOLS_FILTERS_TARGET_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Ends the program unless `path` can be created or, with `force`, replaced. The library checks
 * again, without a race, when it publishes the file. This early check saves the user a long run
 * that would fail. */
void target_check(const char *path, bool force);

/* Ends the program if `path` names a file that must not be replaced: not a filter, part of a series
 * of files, or a live filter that other programs are adding to. target_check() checks this too;
 * call it again after long work. */
void target_check_old(const char *path);

/* Lets this program replace only the file that exists now, unchanged; if there is none, it may not
 * replace any. The library then fails with BLOOMFILE_EREPLACED. Call this before each check of the
 * file, so that changes after the check are detected. */
void target_hold(const char *path);

/* Writes bytes to a file. With `force`, replaces only the file of target_hold(). Returns 0 or an
 * error. */
int target_write(const char *path, const void *bytes, size_t size, bool force);

/* Ends the program if the file has changed since the target_hold() before target_check(), and is
 * a live filter, whose new keys would be lost, or cannot be opened. */
void target_check_unchanged(const char *path);

/* The error of BLOOMFILE_EREPLACED. */
_Noreturn void target_fail_changed(const char *path);

/* target_check() and target_check_old() for a patch (bfdelta). */
void target_check_patch(const char *path, bool force);
void target_check_old_patch(const char *path);

/* Whether the file has keys. A filter that cannot be opened counts as having keys. */
bool target_has_keys(const char *path);

/* ---- Detecting programs that are adding to a live filter. */

/* Sets *have if another program has the file of this descriptor open for adding, or is sealing it.
 * Returns 0, or an errno if the locks cannot be queried. */
int writers_have(int fd, bool *have);

/* writers_have() for a path, or an errno of open(). No file is 0. */
int writers_have_file(const char *path, bool *have);

#endif
