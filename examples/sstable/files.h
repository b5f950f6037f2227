/* SPDX-License-Identifier: MIT
 *
 * Small things done with files. Errors are an errno.
 */
#ifndef FILES_H
#define FILES_H

#include <stddef.h>

/* NULL: out of memory. The caller frees it. */
char *file_path(const char *directory, const char *name);

/* EFBIG if it has more than `room` bytes. */
int read_file(const char *path, char *data, size_t room, size_t *size);

/* A new file, or one that is overwritten; it is on disk when this returns 0, but for its name. */
int write_file(const char *path, const void *data, size_t size);

int write_all(int fd, const void *data, size_t size);

/* The names in a directory, to disk; where the file system has no such call, nothing is done. */
int sync_directory(const char *path);

#endif
