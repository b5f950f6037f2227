/* SPDX-License-Identifier: MIT
 *
 * The header line: a first line that all inputs share, and that is not a key.
 */
#ifndef TOOLS_KEYS_HEADER_LINE_H
#define TOOLS_KEYS_HEADER_LINE_H

#include "keys/fields.h"

#include <bloomfile.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEADER_LINE_MESSAGE = 9000 /* with two paths */
};

/* Begins as all zero. */
struct header_line {
    uint8_t *bytes; /* NULL: there has been none yet */
    size_t size;
    const char *path; /* of the input it is from */
};

/* Keeps the first one that comes, without what ends a line; with crlf, a carriage return there is
 * no part of any. false if this is another, whose fields may be others too: the message says so. */
bool header_line_take(struct header_line *h, const char *path, struct bloomfile_key line, bool crlf,
                      char message[HEADER_LINE_MESSAGE]);

/* Whether both name the key alike: the fields of it, by their numbers. Also true if either lacks
 * one, or was not read. */
bool header_line_has_same_key(const struct header_line *a, const struct header_line *b,
                              const struct fields *fields, bool crlf);

#endif
