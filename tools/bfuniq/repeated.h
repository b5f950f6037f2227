/* SPDX-License-Identifier: MIT
 * The file for repeated lines, while new lines are printed. Like standard output, it is written as
 * lines arrive, so that another process can follow it. */
#ifndef BLOOMFILE_TOOLS_UNIQ_REPEATED_H
#define BLOOMFILE_TOOLS_UNIQ_REPEATED_H

#include "filters/side_file.h"
#include "keys/batch.h"

/* Initialize only `file`. If it has no path, nothing is written. */
struct repeated {
    struct side_file file;
    uint8_t *bytes; /* lines to be written; room for a whole piece */
    size_t size, room;
};

/* Copies the lines that are not chosen. Call it before batch_gather(), which overwrites them. */
void repeated_take(struct repeated *r, const struct batch *b, size_t first, size_t last);

/* Writes the copied lines. */
void repeated_write(const struct repeated *r);

/* Writes the header of the first input. */
void repeated_write_header(const struct repeated *r, const struct batch *b);

void repeated_close(struct repeated *r);

#endif
