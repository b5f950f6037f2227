/* SPDX-License-Identifier: MIT
 * The division of a body into parts that fit in memory, and the construction of each. A part of a
 * blocked body belongs to a range of digests. Positions in classic and counting bodies lie
 * anywhere, so each part takes a pass over all digests; where that would be too many passes, one
 * pass defers the positions of all parts in a window. */
#ifndef BLOOMFILE_BUILD_FILL_H
#define BLOOMFILE_BUILD_FILL_H

#include <stdbool.h>

#include "build/runs.h"
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

/* ---- Construction of the body in these parts: each is computed by one thread, counted, summed and
 * written while it is in the cache. */

/* Computes the body of *h (as image_describe() leaves it) and the CRC-32 of its pages, and makes
 * h->record that of a sealed image but for n; *n: the number of distinct digests. The body goes to
 * `body`; or if that is NULL, to the file, at h->body_offset. `table`: room for the
 * CRC-32. 0; ENOMEM; an error of reading the runs or of writing. */
int fill_body(struct header *h, const struct runs *runs, const struct fill_plan *plan,
              uint8_t *body, int fd, uint8_t *table, uint64_t *n);

#endif
