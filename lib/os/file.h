/* SPDX-License-Identifier: MIT
 * Descriptors of regular files: opening, reading, writing, allocating and flushing; unnamed
 * files. */
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

/* Opens without ever blocking, on a FIFO for example. 0 or an errno. */
int file_open(const char *path, bool writable, int *fd);

/* The status of a regular file; otherwise EISDIR, BLOOMFILE_ENOTREGULAR, or an errno. */
int file_stat(int fd, struct stat *status);

/* The same, up to date even if another host has written to the file: not from the cache of a
 * network file system. */
int file_stat_now(int fd, struct stat *status);

/* The same for a path, and for any kind of file. 0 or an errno. */
int file_stat_path_now(const char *path, struct stat *status);

/* Identifies the file of a descriptor. */
struct file_identity {
    dev_t device;
    ino_t inode;
};
int file_identify(int fd, struct file_identity *file);

/* Whether a descriptor still has that file. EBADF if the application has closed the descriptor,
 * which it does not own, and perhaps reused its number for another file; or an errno. */
int file_check(int fd, const struct file_identity *file);

/* The same, and the size, for a local file. */
int file_check_size(int fd, const struct file_identity *file, off_t *size);

/* Whether a descriptor was opened for writing. */
bool file_is_writable(int fd);

/* After stat() of a path failed with `error`: whether the path no longer leads to a file. fd: of
 * the file it led to, or -1. If the folder cannot be searched, the path counts as gone if that file
 * no longer has a name. */
bool file_name_is_gone(int error, int fd);

/* Reads exactly `size` bytes at `offset`. BLOOMFILE_ETRUNCATED if the file has fewer now. */
int file_read(int fd, uint64_t offset, void *buffer, size_t size);

/* Whether these bytes, at most a page, can be read without waiting for a disk. False if the file
 * system does not report it. */
bool file_is_cached(int fd, uint64_t offset, size_t size);

#define FILE_HERE UINT64_MAX /* an offset: the descriptor's own, as for a pipe */

/* Waits for bytes at `offset`, and reads at most `most`. *size 0: the end. A signal ends the wait
 * with the result of cancel_wanted(), unless that is 0. */
int file_read_some(int fd, uint64_t offset, void *buffer, size_t most, size_t *size);

/* Writes all bytes at `offset`. 0 or an errno. */
int file_write(int fd, uint64_t offset, const void *bytes, size_t size);

/* Opens the file of a descriptor again. Needs /proc, and permission. */
int file_open_again(int fd, bool writable, int *own);

/* The same, in place of the descriptor itself, for reading. */
int file_reopen(int fd);

/* Writes the names in a directory to disk. 0 or an errno. */
int file_flush_names(int directory);

/* The same for the directory of a file. */
int file_flush_directory(const char *path);

/* Writes all changes of a file to disk, by any process. A descriptor for reading will do. */
int file_flush(int fd);

/* Whether RLIMIT_FSIZE allows a file of `size` bytes, on disk or in memory. Beyond the limit the
 * system not only returns EFBIG, but sends SIGXFSZ. */
bool file_size_is_allowed(uint64_t size);

/* ---- Descriptors that are not the standard streams. */

/* The descriptors below this number are the standard streams, even if a program has closed them:
 * its output must not go to a file of ours. */
#define FILE_LEAST 3

/* Takes over a new descriptor, and returns a descriptor for the same file from FILE_LEAST on. -1
 * and errno: it is closed, or was -1. */
int file_apart(int fd);

/* ---- Room on disk for a new file. */

/* Makes the new file `size` bytes long. `reserve`: allocates every block, by writing zeros if the
 * file system offers no better way. Otherwise allocates blocks only if that is cheap; if it is not,
 * the writes do, and the file system may compress them. ENOSPC before anything is allocated, if the
 * file system has less room. */
int allocate_file(int fd, uint64_t size, bool reserve);

/* ---- Temporary files without a name: they end with the process, even by a kill. */

/* The folder that the caller named. NULL: $TMPDIR or /tmp. Valid until the environment changes. */
const char *spool_folder(const char *named);

/* Opens a new temporary file in a folder, for reading and writing. 0, or an errno and *fd is -1. */
int spool_file(const char *folder, int *fd);

#endif
