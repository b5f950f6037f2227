/* SPDX-License-Identifier: MIT
 *
 * A file that is written next to a tool's main output. An old one is overwritten, but not a filter.
 * Errors end the program by cli_fail().
 */
#ifndef TOOLS_FILTERS_SIDE_FILE_H
#define TOOLS_FILTERS_SIDE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Begins with a path, or NULL: there is none, and nothing below does anything. */
struct side_file {
    const char *path;
    const char *what; /* "repeated lines" */
    int fd;           /* -1: not open */
    bool begun;       /* what was in it is gone */
};

/* Checks that the file is not a later layer of the filter. The path is not NULL. */
void side_file_check_name(const struct side_file *s, const char *filter);

/* Checks that the file can be written, and leaves it unchanged. */
void side_file_open(struct side_file *s);

/* Empties it, or creates it, the first time. A run that fails before that leaves an old file
 * unchanged. */
void side_file_begin(struct side_file *s);

void side_file_write(const struct side_file *s, const void *bytes, size_t size);

void side_file_close(struct side_file *s);

#endif
