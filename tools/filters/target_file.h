/* SPDX-License-Identifier: MIT
 *
 * The file that a tool is about to create, and who adds to a live filter.
 */
#ifndef TOOLS_FILTERS_TARGET_FILE_H
#define TOOLS_FILTERS_TARGET_FILE_H

#include <stdbool.h>

/* Ends the program unless `path` can be created or, with `force`, replaced.
 * The library checks again, without a race, when it publishes the file. This spares the work
 * before. */
void target_check(const char *path, bool force);

/* Ends the program if what has that name must not be replaced: a file that is no filter, or a live
 * filter to which others add. target_check() does so too; this is for once more, after long work.
 */
void target_check_old(const char *path);

/* The same for a file that holds a patch (bfdelta). */
void target_check_patch(const char *path, bool force);
void target_check_old_patch(const char *path);

/* Whether keys would be lost with the file of that name. Those of a filter that cannot be opened
 * count, too. */
bool target_has_keys(const char *path);

/* ---- Detection of programs that are adding to a live filter. */

/* Whether somebody has the file of this descriptor open for adding, or seals it. */
bool writers_have(int fd);

/* The same for a path; false too if it cannot be told. */
bool writers_have_file(const char *path);

#endif
