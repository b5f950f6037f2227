/* SPDX-License-Identifier: MIT
 * Checks of the caller's struct bloomfile_source. */
#ifndef BLOOMFILE_FORMAT_SOURCE_H
#define BLOOMFILE_FORMAT_SOURCE_H

#include <bloomfile.h>

#include "format/invalid.h"
#include "format/versioned_struct.h"

/* Returns the name of an invalid member, or NULL. */
static inline const char *source_invalid(const struct bloomfile_source *from)
{
    const uint64_t *more = from->more;
    if (((uint64_t)from->reserved | (uint64_t)from->reserved2 | more[0] | more[1] | more[2] |
         more[3]) != 0)
        return "reserved";
    switch (from->kind) {
    case BLOOMFILE_FROM_PATH:
        return from->path != NULL ? NULL : "path";
    case BLOOMFILE_FROM_MEMORY:
        return from->memory != NULL || from->size == 0 ? NULL : "memory";
    default:
        return from->kind == BLOOMFILE_FROM_FD ? NULL : "kind";
    }
}

/* Copies and checks a source. Returns 0, BLOOMFILE_ESTRUCTSIZE or _EVALUE. */
static inline int source_take(struct bloomfile_source *to, const struct bloomfile_source *from)
{
    if (!versioned_take(to, sizeof *to, from, from->struct_size,
                        VERSIONED_LEAST(struct bloomfile_source, more)))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    const char *member = source_invalid(to);
    return member != NULL ? invalid(BLOOMFILE_EVALUE, member) : 0;
}

#endif
