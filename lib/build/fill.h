/* SPDX-License-Identifier: MIT
 *
 * Dividing a body into parts that fit in memory, and making each part.
 *
 * A part of a blocked or ribbon body belongs to a range of digests. Positions in classic and
 * counting bodies lie anywhere, so each part needs a pass over all digests. If that takes too many
 * passes, one pass defers the positions of all parts of a window (deferred.h).
 */
#ifndef BLOOMFILE_BUILD_FILL_H
#define BLOOMFILE_BUILD_FILL_H

#include <stdbool.h>

#include "build/runs.h"
#include "format/header.h"

struct fill_plan {
    unsigned threads;   /* 0 counts as 1 */
    size_t room;        /* as for reader_new() */
    size_t part;        /* bytes of memory for a part, at least a page; 0: memory is not limited */
    const char *folder; /* as for spool_file() */
};

struct parts {
    unsigned threads; /* not more than there is work for */
    size_t room;      /* for each thread, as for reader_new() */
    uint64_t count;
    size_t size;     /* bytes of each part but the last; whole pages */
    uint64_t window; /* parts in a window; 0: nothing is deferred */
    unsigned shift;  /* with windows, a part has 2^shift units... */
    size_t buffer;   /* ...and a buffer of this many bytes */
};

/* Plans the body of *h from `digests` digests. in_place: the body is built and kept in memory. */
struct parts parts_plan(const struct header *h, uint64_t digests, const struct fill_plan *plan,
                        bool in_place);

/* ---- construction: one thread makes a part, counts its bits, computes its checksums and writes
 * it, while it is in the cache */

/* Makes the body of *h, which image_describe() has completed, and stores the CRC-32 of its pages in
 * `table`. Fills in h->record for a sealed image, except for n, and sets *n to the number of
 * distinct digests. Writes the body to `body` or, if that is NULL, to the file at h->body_offset.
 * Returns 0, ENOMEM, or an error of reading the runs or of writing. */
int fill_body(struct header *h, const struct runs *runs, const struct fill_plan *plan,
              uint8_t *body, int fd, uint8_t *table, uint64_t *n);

#endif
