/* SPDX-License-Identifier: MIT
 *
 * The first line that inputs have in common, and that is no key.
 */
#ifndef BLOOMFILE_TOOLS_HEADER_H
#define BLOOMFILE_TOOLS_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEADER_REASON = 5000
};

/* Begins as all zero. */
struct header {
    uint8_t *bytes; /* NULL: there has been none yet */
    size_t size;
    const char *path; /* of the input it is from */
};

/* Keeps the first one that comes. false if this is another, whose fields may be others too: reason
 * says so. */
bool header_take(struct header *h, const char *path, const uint8_t *bytes, size_t size,
                 char reason[HEADER_REASON]);

#endif
