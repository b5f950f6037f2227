/* SPDX-License-Identifier: MIT
 *
 * The file that repeated lines go to while new ones are printed. Like standard output, it is
 * written as the lines come, so that another process can follow it.
 */
#ifndef BLOOMFILE_TOOLS_UNIQ_REPEATED_H
#define BLOOMFILE_TOOLS_UNIQ_REPEATED_H

#include "keys/batch.h"

/* Begins with a path, or NULL: there is none, and nothing below does anything. Trouble ends the
 * program by cli_fail. */
struct repeated {
    const char *path;
    int fd;         /* -1: not open */
    bool begun;     /* what was in it is gone */
    uint8_t *bytes; /* to be written, and room for all lines of a piece */
    size_t size, room;
};

/* That it is no name of a further layer of the filter. The path is not NULL. */
void repeated_check_name(const struct repeated *r, const char *filter);

/* Checks that the file can be written, and leaves it as it is. A filter is refused. */
void repeated_open(struct repeated *r);

/* Empties it, or makes it, the first time. Call it once lines were read: a run that fails before
 * that leaves an old file as it was. */
void repeated_begin(struct repeated *r);

/* Takes those of the lines that are not chosen, before batch_gather(). */
void repeated_take(struct repeated *r, const struct batch *b, size_t first, size_t last);

/* Writes what was taken. */
void repeated_write(const struct repeated *r);

/* The header, if it is the first one. */
void repeated_write_header(const struct repeated *r, const struct batch *b);

void repeated_close(struct repeated *r);

#endif
