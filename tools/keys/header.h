/* SPDX-License-Identifier: MIT
 * The header: the first line of each input, which has the names of columns and is not a key. */
#ifndef TOOLS_KEYS_HEADER_H
#define TOOLS_KEYS_HEADER_H

#include "keys/fields.h"

enum {
    HEADER_LINE_MESSAGE = 9000 /* includes two paths */
};

/* Initialize it with zeros. */
struct header_line {
    uint8_t *bytes; /* NULL: before the first input */
    size_t size;
    const char *path; /* of the first input */
};

/* Keeps the header of the first input and compares each later header with it. `line` has no
 * newline; if crlf, a carriage return at its end is ignored. Returns false if the lines differ;
 * then `message` is set. */
bool header_line_take(struct header_line *h, const char *path, struct bloomfile_key line, bool crlf,
                      char message[HEADER_LINE_MESSAGE]);

/* Replaces column names by their numbers in this header. Returns false if a name is missing or
 * occurs twice; then `message` is set. */
bool header_find_columns(struct fields *f, const char *path, struct bloomfile_key header, bool crlf,
                         char message[HEADER_LINE_MESSAGE]);

/* Whether the columns of the key have the same names in both headers. Also true if a header lacks
 * such a column or was not read. */
bool header_line_has_same_key(const struct header_line *a, const struct header_line *b,
                              const struct fields *fields, bool crlf);

#endif
