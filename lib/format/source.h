/* SPDX-License-Identifier: MIT
 * The caller's source of bytes, checked. */
#ifndef BLOOMFILE_FORMAT_SOURCE_H
#define BLOOMFILE_FORMAT_SOURCE_H

#include <bloomfile.h>

#include "format/versioned_struct.h"

static inline bool source_valid(const struct bloomfile_source *from)
{
    const uint64_t *more = from->more;
    if ((from->reserved | from->reserved2 | more[0] | more[1] | more[2] | more[3]) != 0)
        return false;
    switch (from->kind) {
    case BLOOMFILE_FROM_PATH:
        return from->path != NULL;
    case BLOOMFILE_FROM_MEMORY:
        return from->memory != NULL || from->size == 0;
    default:
        return from->kind == BLOOMFILE_FROM_FD;
    }
}

/* Copies a source. False: BLOOMFILE_EPARAMS. */
static inline bool source_known(struct bloomfile_source *to, const struct bloomfile_source *from)
{
    return versioned_take(to, sizeof *to, from, from->struct_size,
                          VERSIONED_LEAST(struct bloomfile_source, more)) &&
           source_valid(to);
}

#endif
