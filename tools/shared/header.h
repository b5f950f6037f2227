/* SPDX-License-Identifier: MIT
 *
 * The first line that inputs have in common, and that is no key.
 */
#ifndef BLOOMFILE_TOOLS_HEADER_H
#define BLOOMFILE_TOOLS_HEADER_H

#include "shared/fields.h"

#include <bloomfile.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEADER_MESSAGE = 9000 /* with two paths */
};

/* Begins as all zero. */
struct header {
    uint8_t *bytes; /* NULL: there has been none yet */
    size_t size;
    const char *path; /* of the input it is from */
};

/* Keeps the first one that comes, without what ends a line; with crlf, a carriage return there is
 * no part of any. false if this is another, whose fields may be others too: the message says so. */
bool header_take(struct header *h, const char *path, struct bloomfile_key line, bool crlf,
                 char message[HEADER_MESSAGE]);

/* Whether both name the key alike: the fields of it, by their numbers. Also true if either lacks
 * one, or was not read. */
bool header_has_same_key(const struct header *a, const struct header *b,
                         const struct fields *fields, bool crlf);

#endif
