/* SPDX-License-Identifier: MIT
 *
 * Lines of text as rows and keys. Trouble ends the program.
 */
#ifndef INPUT_H
#define INPUT_H

#include "row.h"

struct lines {
    char *text;
    size_t count;
    struct bytes *lines; /* without their newlines */
};

/* All lines of a file; NULL: of standard input. */
struct lines lines_read(const char *path);
void lines_free(struct lines *l);

/* "key<TAB>value" each, sorted, of equal keys the last one only. The rows point into the lines, and
 * the caller frees them. */
struct row *rows_from_lines(const struct lines *l, size_t *count);

/* The same, to delete these keys. */
struct row *deletions_of(const struct bytes *keys, size_t *count);

#endif
