/* SPDX-License-Identifier: MIT
 *
 * The header line: the first line of each input, which is not a key. Columns by their names in it.
 */
#ifndef TOOLS_KEYS_HEADER_H
#define TOOLS_KEYS_HEADER_H

#include "keys/fields.h"

enum {
    HEADER_LINE_MESSAGE = 9000 /* with two paths */
};

/* Begins as all zero. */
struct header_line {
    uint8_t *bytes; /* NULL: before the first input */
    size_t size;
    const char *path; /* of the input it is from */
};

/* Keeps the line of the first input. The line comes without its end; with crlf, a carriage return
 * at its end does not count. false: the line differs, so the columns may, too; the message says so.
 */
bool header_line_take(struct header_line *h, const char *path, struct bloomfile_key line, bool crlf,
                      char message[HEADER_LINE_MESSAGE]);

/* Replaces names of columns by their numbers in this header. false: the header lacks a name, or has
 * it twice; the message says which. */
bool header_find_columns(struct fields *f, const char *path, struct bloomfile_key header, bool crlf,
                         char message[HEADER_LINE_MESSAGE]);

/* Whether both name the key alike: the fields of it, by their numbers. Also true if either lacks
 * one, or was not read. */
bool header_line_has_same_key(const struct header_line *a, const struct header_line *b,
                              const struct fields *fields, bool crlf);

#endif
