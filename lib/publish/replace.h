/* SPDX-License-Identifier: MIT
 * Replacing a file: the lock that excludes other processes, and copying its owner, mode and ACL. */
#ifndef BLOOMFILE_PUBLISH_REPLACE_H
#define BLOOMFILE_PUBLISH_REPLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* ---- The one file that may be replaced. */

struct replace_only {
    bool wanted; /* false: any file may be replaced */
    bool exists; /* false: the path must be free */
    struct stat file;
    bool head_known;
    uint64_t head; /* a hash of its header */
};

/* Opens the file at the path for replace_only_note(): for reading if it is a regular file and may
 * be read, or else by O_PATH. Sets *fd to -1 if the file is missing. Returns 0 or an errno. */
int replace_open(const char *path, int *fd);

/* Allows only the file of the descriptor to be replaced, and only unchanged; -1: no file. Its time
 * is noted without its header if the file cannot be read, or if the descriptor is of O_PATH and
 * /proc is missing. Returns 0, or an errno of fstat() or open(). */
int replace_only_note(struct replace_only *only, int fd);

/* Checks the file that is at the path now (NULL if the path is free). fd: of this file, or -1.
 * Returns 0, an errno, or BLOOMFILE_EREPLACED if it is another file or was changed: device, inode,
 * size, mtime, and with a descriptor the header. Times alone do not show two changes within one
 * tick, which may be 2 s long. */
int replace_only_check(const struct replace_only *only, const struct stat *now, int fd);

/* ---- The lock that a process holds while it replaces a file. */

/* Locks the file that has the name when this returns, by flock(), where locks bind all processes
 * (filesystem_is_local). Waits for another process for at most one second. Sets *claim,
 * for replace_unlock(), to a descriptor of the locked file. Sets it to -1 if the name is not a
 * regular file, if the file cannot be read or locked, or if another process keeps its lock. A file
 * that is not locked must not stay open: on FUSE, libfuse would rename it away before the new file
 * gets its name.
 *
 * If `only` is wanted and the file is live, this also locks byte 1, and programs that join or leave
 * its writers wait until replace_unlock(). If another process keeps the flock(), only byte 1 is
 * locked. Then checks the file (replace_only_check).
 *
 * Returns 0, an errno, BLOOMFILE_ENOTREGULAR, EBUSY if another process keeps byte 1 locked for one
 * second, or BLOOMFILE_EREPLACED. */
int replace_lock(int directory, const char *name, const struct replace_only *only, int *claim);

/* Releases the locks, also those that a child of fork() has inherited, and closes the descriptor.
 * claim: may be -1. */
void replace_unlock(int claim);

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
