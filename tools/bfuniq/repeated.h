/* SPDX-License-Identifier: MIT
 *
 * The file that repeated lines go to while new ones are printed. Like standard output, it is
 * written as the lines come, so that another process can follow it.
 */
#ifndef BLOOMFILE_TOOLS_UNIQ_REPEATED_H
#define BLOOMFILE_TOOLS_UNIQ_REPEATED_H

#include "filters/side_file.h"
#include "keys/batch.h"

/* Initialize `file` only. Nothing is written if it has no path. */
struct repeated {
    struct side_file file;
    uint8_t *bytes; /* to be written, and room for all lines of a piece */
    size_t size, room;
};

/* Takes those of the lines that are not chosen, before batch_gather(). */
void repeated_take(struct repeated *r, const struct batch *b, size_t first, size_t last);

/* Writes what was taken. */
void repeated_write(const struct repeated *r);

/* The header, if it is the first one. */
void repeated_write_header(const struct repeated *r, const struct batch *b);

void repeated_close(struct repeated *r);

#endif
