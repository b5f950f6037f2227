/* SPDX-License-Identifier: MIT
 * Paths that are used again later, perhaps from another current folder; and mount points. */
#ifndef BLOOMFILE_OS_PATH_H
#define BLOOMFILE_OS_PATH_H

#include <stdbool.h>

/* A path from the root that leads to the same file; links stay links. Where the current folder has
 * no such path (it may not be searched on the way, a mount covers it, it was removed), it goes
 * through a descriptor of that folder, which is the caller's; else *folder is -1. For free(); NULL:
 * errno. */
char *path_to_keep(const char *path, int *folder);

/* The path without symbolic links, as by realpath(), but EACCES if it begins in a current folder
 * that has no path from the root. For free(); NULL: errno. */
char *path_without_links(const char *path);

/* ---- Mount points, such as a single file that a container is given. */

/* Whether something is mounted on the file of that name, which is not a symbolic link. `directory`:
 * a descriptor, or AT_FDCWD. false where the system does not tell. */
bool mount_is_point(int directory, const char *name);

#endif
