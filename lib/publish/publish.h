/* SPDX-License-Identifier: MIT
 * Files that appear whole or not at all: a temporary in the same directory, fsync, link or rename,
 * fsync of the directory. Where the file system can (O_TMPFILE), the temporary has no name, so that
 * not even a kill leaves it behind. Named temporaries that a kill left behind are removed. */
#ifndef BLOOMFILE_PUBLISH_PUBLISH_H
#define BLOOMFILE_PUBLISH_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "publish/destination.h"

struct publication;

/* Makes the temporary that will become `path`, and returns its descriptor, for reading and writing;
 * the publication owns it. Follows a symbolic link. `replace`: replaces an existing regular file;
 * otherwise EEXIST. Anything else there is BLOOMFILE_ENOTREGULAR or EISDIR. */
int publish_start(struct publication **out, const char *path, bool replace, int *fd);

/* The same with the rights of `like`, another file in that folder, unless one is replaced. That is
 * an absolute path, which must last until the end. NULL: with those that a new file has. */
int publish_start_like(struct publication **out, const char *path, bool replace, const char *like,
                       int *fd);

/* The same for a destination that is not a path: made in an unnamed file, in a folder as for
 * spool_folder() or for memory in memory, and copied at the end. */
int publish_copy(struct publication **out, const struct destination *to, int *fd);

/* Lets it replace that file alone, as it was then (device, inode, size, time of modification).
 * BLOOMFILE_EREPLACED, now or from publish_finish(), if the path names another file, or none.
 * Processes of this library exclude each other from the check to the rename, where locks bind them
 * (filesystem_is_local), unless another program keeps its lock (replace.h). A file that any other
 * process renames to the path between these two system calls is lost without notice. */
int publish_replace_only(struct publication *p, const struct publish_only *only);

/* Syncs the file and gives it its name. 0, or an error; then nothing is left behind and what was
 * there is untouched. Only if the last step fails, the flush of the directory, is the complete new
 * file in place all the same. */
int publish_finish(struct publication *p);

/* Leaves nothing behind. NULL is allowed. */
void publish_abandon(struct publication *p);

#endif
