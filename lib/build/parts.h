/* SPDX-License-Identifier: MIT
 *
 * How a body is made in parts, in a given memory. The blocks of a part belong to a range of
 * digests. Positions of classic and counting keys are everywhere: each part is a pass over all
 * digests; or, where memory is so short that these would be too many, one pass puts the positions
 * aside that belong to the many parts of a window.
 */
#ifndef BLOOMFILE_PARTS_H
#define BLOOMFILE_PARTS_H

#include <stdbool.h>

#include "format/header.h"

struct fill_plan {
    unsigned threads;   /* 0 is 1 */
    size_t room;        /* as for reader_new() */
    size_t part;        /* bytes of memory for a part, at least a page; 0: as seems best */
    const char *folder; /* as for spool_file() */
};

struct parts {
    unsigned threads; /* not more than there is work for */
    size_t room;      /* for each, as for reader_new() */
    uint64_t count;
    size_t size;     /* bytes of each but the last: whole pages */
    uint64_t window; /* parts in one; 0: nothing is put aside */
    unsigned shift;  /* otherwise a part has 2^shift units... */
    size_t buffer;   /* ...and a buffer of so many bytes */
};

/* For the body of *h, of so many digests. `in_place`: it is made in memory, where it stays. */
struct parts parts_plan(const struct header *h, uint64_t digests, const struct fill_plan *plan,
                        bool in_place);

#endif
