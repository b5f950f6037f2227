/* SPDX-License-Identifier: MIT
 * The division of a body into parts that fit in memory. A part of a blocked body belongs to a range
 * of digests. Positions in classic and counting bodies lie anywhere, so each part takes a pass over
 * all digests; where that would be too many passes, one pass defers the positions of all parts in a
 * window. */
#ifndef BLOOMFILE_PARTS_H
#define BLOOMFILE_PARTS_H

#include <stdbool.h>

#include "format/header.h"

struct fill_plan {
    unsigned threads;   /* 0 is 1 */
    size_t room;        /* as for reader_new() */
    size_t part;        /* bytes of memory for a part, at least a page; 0: a good default */
    const char *folder; /* as for spool_file() */
};

struct parts {
    unsigned threads; /* no more than there is work for */
    size_t room;      /* for each, as for reader_new() */
    uint64_t count;
    size_t size;     /* bytes of each but the last; whole pages */
    uint64_t window; /* parts in a window; 0: nothing is deferred */
    unsigned shift;  /* with windows, a part has 2^shift units... */
    size_t buffer;   /* ...and a buffer of this many bytes */
};

/* Plans the body of *h from `digests` digests. `in_place`: the body is built in memory and stays
 * there. */
struct parts parts_plan(const struct header *h, uint64_t digests, const struct fill_plan *plan,
                        bool in_place);

#endif
