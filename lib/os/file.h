/* SPDX-License-Identifier: MIT
 * Descriptors of regular files: opening, reading, writing, allocating and flushing; temporary files
 * without a name. */
#ifndef BLOOMFILE_OS_FILE_H
#define BLOOMFILE_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Opens without ever blocking, on a FIFO for example. 0 or an errno. */
int file_open(const char *path, bool writable, int *fd);

/* The state of a regular file; else EISDIR, BLOOMFILE_ENOTREGULAR, or an errno. */
int file_stat(int fd, struct stat *status);

/* The same as the file is at this moment, also where another host has written to it: not from the
 * cache of a network file system. */
int file_stat_now(int fd, struct stat *status);

/* The same of any file that a path leads to. 0 or an errno. */
int file_stat_path_now(const char *path, struct stat *status);

/* Which file a descriptor has. */
struct file_identity {
    dev_t device;
    ino_t inode;
};
int file_identify(int fd, struct file_identity *file);

/* Whether it still has that one: EBADF if the application has closed the descriptor, which is not
 * its own, and perhaps got its number for another file; or an errno. */
int file_check(int fd, const struct file_identity *file);

/* The same, and its size, of a local file. */
int file_check_size(int fd, const struct file_identity *file, off_t *size);

/* Whether a descriptor was opened for writing. */
bool file_is_writable(int fd);

/* After stat() of a path has failed with `error`: whether it leads to no file any more. fd: of the
 * file that it led to, or -1; where nobody may look, that one may be without any name. */
bool file_name_is_gone(int error, int fd);

/* Exactly `size` bytes at `offset`; BLOOMFILE_ETRUNCATED if there are fewer by now. */
int file_read(int fd, uint64_t offset, void *buffer, size_t size);

/* Whether reading these bytes, at most a page, would return without a wait for a disk. False too
 * where the file system does not report it. */
bool file_is_cached(int fd, uint64_t offset, size_t size);

#define FILE_HERE UINT64_MAX /* an offset: the descriptor's own, as for a pipe */

/* The bytes at `offset`: waits for some, at most `most`. *size 0: the end. A signal ends the wait
 * with what cancel_wanted() returns, unless that is 0. */
int file_read_some(int fd, uint64_t offset, void *buffer, size_t most, size_t *size);

/* Writes all of the bytes at `offset`. 0 or an errno. */
int file_write(int fd, uint64_t offset, const void *bytes, size_t size);

/* Opens the file of a descriptor anew. Needs /proc, and permission. */
int file_open_again(int fd, bool writable, int *own);

/* The same, in place of the descriptor itself, for reading. */
int file_reopen(int fd);

/* Writes the names in a directory to disk. 0 or an errno. */
int file_flush_names(int directory);

/* The same for the directory of a file. */
int file_flush_directory(const char *path);

/* Writes all changes of a file to disk, whoever made them. A descriptor for reading will do. */
int file_flush(int fd);

/* Whether RLIMIT_FSIZE allows a file, or memory that is one, of so many bytes. Beyond it the system
 * does not only say EFBIG, but sends SIGXFSZ. */
bool file_size_is_allowed(uint64_t size);

/* ---- Away from the descriptors of the standard streams. */

/* The descriptors below this one are the standard streams, even while a program has closed them:
 * what it then writes to them must not go to a file of ours. */
#define FILE_LEAST 3

/* Takes over a new descriptor, and returns one that is none of these; -1 and errno: it is closed,
 * or was -1. */
int file_apart(int fd);

/* ---- Room on disk for a new file. */

/* Makes the new file `size` bytes long. `reserve`: allocates every block, by writing zeros if the
 * file system offers no better way; otherwise only where that is cheap. ENOSPC before anything is
 * allocated, if the file system has less room than that. Without `reserve`, where blocks cannot be
 * allocated in advance, that is left to the writes: the file system may compress them. */
int allocate_file(int fd, uint64_t size, bool reserve);

/* ---- Temporary files without a name: nothing of them remains, whatever happens. */

/* The folder that the caller named; NULL: $TMPDIR or /tmp. Valid until the environment changes. */
const char *spool_folder(const char *named);

/* Opens a new one in a folder, for reading and writing. 0, or an errno and *fd is -1. */
int spool_file(const char *folder, int *fd);

#endif
