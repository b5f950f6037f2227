/* SPDX-License-Identifier: MIT
 * Paths that are used again later, perhaps from another current folder; and mount points. */
#ifndef BLOOMFILE_OS_PATH_H
#define BLOOMFILE_OS_PATH_H

#include <stdbool.h>

/* A path from the root that leads to the same file; links stay links. The current folder may have
 * no such path: it may not be searched on the way, a mount covers it, or it was removed. Then the
 * path goes through a descriptor of that folder, *folder, which the caller owns; otherwise *folder
 * is -1. The caller frees the path. NULL: errno. */
char *path_to_keep(const char *path, int *folder);

/* The path without symbolic links, as by realpath(); but EACCES if it begins in a current folder
 * that has no path from the root. The caller frees it. NULL: errno. */
char *path_without_links(const char *path);

/* ---- Mount points, such as a single file that a container is given. */

/* Whether something is mounted on the file of that name, which is not a symbolic link. `directory`:
 * a descriptor, or AT_FDCWD. false if the system does not report it. */
bool mount_is_point(int directory, const char *name);

#endif
