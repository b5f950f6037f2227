/* SPDX-License-Identifier: MIT
 * Paths kept for later use, perhaps from another current folder; mount points. */
#ifndef BLOOMFILE_OS_PATH_H
#define BLOOMFILE_OS_PATH_H

#include <stdbool.h>

/* Returns an absolute path that leads to the same file, without resolving links. The current folder
 * may have no absolute path: a folder on the way is not searchable, a mount covers it, or it was
 * removed. Then the path goes through /proc/self/fd and a descriptor of that folder, *folder, which
 * the caller owns; otherwise *folder is -1. The caller frees the path. Returns NULL with errno set
 * on failure. */
char *path_to_keep(const char *path, int *folder);

/* Returns the path without symbolic links, like realpath(). Fails with EACCES for a relative path
 * if the current folder has no absolute path. The caller frees the result. Returns NULL with errno
 * set on failure. */
char *path_without_links(const char *path);

/* ---- Mount points, such as a single file mounted into a container. */

/* Returns whether a file, which is not a symbolic link, is a mount point. `directory`: a
 * descriptor, or AT_FDCWD. Returns false if the system does not report it. */
bool mount_is_point(int directory, const char *name);

#endif
