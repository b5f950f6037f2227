/* SPDX-License-Identifier: MIT
 * Replacing a file: the lock that excludes other processes, and copying its owner, mode and ACL. */
#ifndef BLOOMFILE_PUBLISH_REPLACE_H
#define BLOOMFILE_PUBLISH_REPLACE_H

#include <stdio.h>
#include <sys/stat.h>

/* ---- The lock that a process holds while it replaces a file. */

/* Locks the file that has the name when this returns, by flock(). Waits for another process for at
 * most one second. Returns 0 or an errno. close(*claim) releases the lock. *claim is -1 if the name
 * is not a regular file, if it cannot be read or locked, or if another process keeps its lock. */
int replace_lock_take(int directory, const char *name, int *claim);

/* ---- The rights of a file that replaces another file. */

/* The file whose rights are copied. */
struct rights_of {
    int directory;
    const char *name; /* in the directory */
    const char *path; /* of the file; NULL or stale if only the directory is known */
    struct stat status;
};

/* Gives a new file the rights of the old file: mode and access control list, and owner and group if
 * allowed. No user gains a right. If the group or the list cannot be kept, users who had rights by
 * it lose them. Returns 0 or an errno. */
int rights_keep(int fd, const struct rights_of *old);

/* ---- renameat2() for C libraries that do not have it (musl). */

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE  (1u << 0)
#define REPLACE_RENAMEAT2 /* is defined here */
int renameat2(int from, const char *old_name, int to, const char *new_name, unsigned flags);
#endif

#endif
