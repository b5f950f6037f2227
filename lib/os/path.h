/* SPDX-License-Identifier: MIT
 * Paths that are used again later, perhaps from another current folder. */
#ifndef BLOOMFILE_PATH_H
#define BLOOMFILE_PATH_H

/* A path from the root that leads to the same file; links stay links. Where the current folder has
 * no such path (it may not be searched on the way, a mount covers it, it was removed), it goes
 * through a descriptor of that folder, which is the caller's; else *folder is -1. For free(); NULL:
 * errno. */
char *path_to_keep(const char *path, int *folder);

/* The path without symbolic links, as by realpath(), but EACCES if it begins in a current folder
 * that has no path from the root. For free(); NULL: errno. */
char *path_without_links(const char *path);

#endif
