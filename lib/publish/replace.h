/* SPDX-License-Identifier: MIT
 * The file that a new one replaces: the exclusive right to replace it, and its owner, mode and ACL.
 */
#ifndef BLOOMFILE_PUBLISH_REPLACE_H
#define BLOOMFILE_PUBLISH_REPLACE_H

#include <stdio.h>
#include <sys/stat.h>

/* ---- One process at a time has the right to replace a file. */

/* Takes it for the file that has the name when this returns, by flock(). Waits while another
 * process has it, for a second at most. 0, or an errno; close(*claim) gives it back. *claim: -1 if
 * there is no regular file, if it cannot be read or locked, or if another process keeps its lock.
 */
int replace_lock_take(int directory, const char *name, int *claim);

/* ---- The rights of a file that replaces another. */

/* What stands at a path. */
struct rights_of {
    int directory;
    const char *name; /* in the directory */
    const char *path; /* of the file; NULL or stale if only the directory is known */
    struct stat status;
};

/* Makes a new file as private as the old one: same mode and access control list, and same owner and
 * group where allowed. Nobody gains a right: if the group or the list cannot be kept, those who had
 * rights through it lose them. 0 or an errno. */
int rights_keep(int fd, const struct rights_of *old);

/* ---- renameat2() for C libraries that do not have it (musl). */

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE  (1u << 0)
#define REPLACE_RENAMEAT2 /* is ours */
int renameat2(int from, const char *old_name, int to, const char *new_name, unsigned flags);
#endif

#endif
