/* SPDX-License-Identifier: MIT
 * A tool's second output file. An existing file is overwritten, unless it is a filter or patch.
 * Errors end the program through cli_fail(). */
#ifndef TOOLS_FILTERS_SIDE_FILE_H
#define TOOLS_FILTERS_SIDE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Initialize `path`. If it is NULL, the functions below do nothing. */
struct side_file {
    const char *path;
    const char *what;    /* for messages: "repeated lines" */
    int fd;              /* -1: not open */
    bool begun;          /* the old contents were removed */
    const char *written; /* for messages: an output that is already complete; or NULL */
};

/* Whether the path names a regular file that begins as a filter does. */
bool side_file_is_filter(const char *path);

/* Checks that the file is not a later layer of the filter. The path is not NULL. */
void side_file_check_name(const struct side_file *s, const char *filter);

/* Checks that the file can be written, but leaves it unchanged. */
void side_file_open(struct side_file *s);

/* The first call empties or creates the file. If a run fails before that, an old file
 * stays unchanged. */
void side_file_begin(struct side_file *s);

void side_file_write(const struct side_file *s, const void *bytes, size_t size);

void side_file_close(struct side_file *s);

#endif
