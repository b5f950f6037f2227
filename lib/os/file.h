/* SPDX-License-Identifier: MIT
 * Opening, reading, writing, allocating and flushing regular files; unnamed temporary files. */
#ifndef BLOOMFILE_OS_FILE_H
#define BLOOMFILE_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __GLIBC__ /* musl has statx() since 1.2.5 only */
#ifndef STATX_BASIC_STATS
#include <linux/stat.h>
#endif
#define statx(...) ((int)syscall(SYS_statx, __VA_ARGS__))
#endif

/* Opens a file without blocking, even if it is a FIFO. Returns 0 or an errno. */
int file_open(const char *path, bool writable, int *fd);

/* Gets the status of a regular file. Returns 0; EISDIR or BLOOMFILE_ENOTREGULAR for other files; or
 * an errno. */
int file_stat(int fd, struct stat *status);

/* file_stat() that bypasses the cache of a network file system: up to date even if another host
 * wrote to the file. */
int file_stat_now(int fd, struct stat *status);

/* file_stat_now() for a path, and for any type of file. Returns 0 or an errno. */
int file_stat_path_now(const char *path, struct stat *status);

/* The identity of a file. */
struct file_identity {
    dev_t device;
    ino_t inode;
};
int file_identify(int fd, struct file_identity *file);

/* Checks that a descriptor still refers to `file`. Returns 0; EBADF if the application closed the
 * descriptor, which it does not own, and may have reused its number; or an errno. */
int file_check(int fd, const struct file_identity *file);

/* Like file_check(), and gets the size. For local files. */
int file_check_size(int fd, const struct file_identity *file, off_t *size);

/* Returns whether a descriptor was opened for writing. */
bool file_is_writable(int fd);

/* Returns whether a path no longer leads to a file, after stat() of it failed with `error`. fd: a
 * descriptor of the file it led to, or -1. If the folder cannot be searched, returns whether that
 * file has lost its last name. */
bool file_name_is_gone(int error, int fd);

/* Reads exactly `size` bytes at `offset`. Returns BLOOMFILE_ETRUNCATED if the file has fewer. */
int file_read(int fd, uint64_t offset, void *buffer, size_t size);

/* Returns whether these bytes, at most a page, can be read without waiting for a disk. Returns
 * false if the file system does not support the query. */
bool file_is_cached(int fd, uint64_t offset, size_t size);

#define FILE_HERE UINT64_MAX /* an offset: the descriptor's own, as for a pipe */

/* Waits for bytes at `offset`, and reads at most `most`. Sets *size, 0 at the end. If a signal
 * interrupts the wait and cancel_wanted() is not 0, returns that error. */
int file_read_some(int fd, uint64_t offset, void *buffer, size_t most, size_t *size);

/* Writes all bytes at `offset`. Returns 0 or an errno. */
int file_write(int fd, uint64_t offset, const void *bytes, size_t size);

/* Checks that all of these bytes, which have been written and synced, are on disk: after a failed
 * write, ext4 may write to blocks that still read as zeros. Returns 0, also if the file system does
 * not report it; EIO; or another errno. */
int file_check_written(int fd, uint64_t offset, uint64_t size);

/* Opens the file of a descriptor again, through /proc. Needs the permission to open it. */
int file_open_again(int fd, bool writable, int *own);

/* Replaces the descriptor by a new read-only opening of the same file. */
int file_reopen(int fd);

/* Writes the names in a directory to disk. Returns 0 or an errno. */
int file_flush_names(int directory);

/* The same for the directory of a file. */
int file_flush_directory(const char *path);

/* Writes all changes that any process made to a file to disk. The descriptor need not be
 * writable. */
int file_flush(int fd);

/* Returns whether RLIMIT_FSIZE allows a file of `size` bytes, on disk or in memory. Beyond the
 * limit the kernel also sends SIGXFSZ, so this is checked first. */
bool file_size_is_allowed(uint64_t size);

/* ---- Keeping descriptors apart from the standard streams. */

/* Descriptors below this number are reserved for the standard streams, even if the program has
 * closed them: its output must never go to one of our files. */
#define FILE_LEAST 3

/* Moves a new descriptor to a number of FILE_LEAST or above, and returns that. After an error
 * closes it, and returns -1 with errno set; -1 is passed through. */
int file_apart(int fd);

/* ---- Room on disk for a new file. */

/* Extends a new file to `size` bytes. With `reserve` allocates every block, by writing zeros if the
 * file system does not support fallocate(). Otherwise allocates blocks only if that is cheap; later
 * writes may then fail, or be compressed. Returns ENOSPC before it allocates anything if the file
 * system lacks room. */
int allocate_file(int fd, uint64_t size, bool reserve);

/* ---- Unnamed temporary files, which disappear with the process, even if it is killed. */

/* Returns `named` or, if that is NULL, $TMPDIR or /tmp. Valid until the environment changes. */
const char *spool_folder(const char *named);

/* Opens a new temporary file in a folder, for reading and writing. Returns 0, or an errno, and then
 * *fd is -1. */
int spool_file(const char *folder, int *fd);

#endif
