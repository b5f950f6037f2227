/* SPDX-License-Identifier: MIT
 * Bit positions that are stored in a temporary file until their part of the body is made. A window
 * is the set of parts made in one pass over the digests. Each part of the window has a buffer in
 * memory; full buffers are written to the file, in extents that belong to one part each. */
#ifndef BLOOMFILE_BUILD_DEFERRED_H
#define BLOOMFILE_BUILD_DEFERRED_H

#include <stddef.h>
#include <stdint.h>

#define DEFERRED_EXTENT ((size_t)64 << 10) /* bytes */
#define DEFERRED_BUFFER_MOST                                                                       \
    ((size_t)16 << 10) /* bytes; a power of 2, like DEFERRED_BUFFER_LEAST */
#define DEFERRED_BUFFER_LEAST ((size_t)1 << 10)
#define DEFERRED_POSITION     sizeof(uint32_t)
#define DEFERRED_PART_MOST    ((uint64_t)1 << 29) /* bytes of a part with at most 2^32 units */

struct deferred_plan {
    const char *folder; /* as for spool_file() */
    unsigned k;
    uint64_t units; /* units of the body */
    unsigned shift; /* a part has 2^shift units, at most 2^32 */
    size_t parts;   /* parts in a window */
    size_t buffer;  /* bytes of a writer's buffer for a part */
};

/* The file, shared by all threads. */
struct deferred;

/* Returns 0, ENOMEM, or an error of creating the file. */
int deferred_new(struct deferred **out, const struct deferred_plan *plan);

/* Starts a window whose first part begins with unit `first`. Drops all positions. */
void deferred_start(struct deferred *a, uint64_t first);

void deferred_free(struct deferred *a);

/* The buffers of one thread. */
struct deferred_writer;
int deferred_writer_new(struct deferred_writer **out, struct deferred *a); /* Returns 0 or ENOMEM */
void deferred_writer_free(struct deferred_writer *w);

/* Defers those positions of the digests that are in the window. */
void deferred_add(struct deferred_writer *w, const uint64_t *digests, size_t n);

/* Ends a window. Returns 0, or the first error since its start: ENOMEM or a write error. */
int deferred_end(struct deferred_writer *w);

/* Calls visit(context, positions, n) with the positions of one part, relative to its start, in
 * batches of at most DEFERRED_EXTENT bytes. `room` must have that many bytes. All writers must have
 * ended. Returns 0 or a read error; EIO if the file differs from the bytes that were written. */
typedef void deferred_visit(void *context, const uint32_t *positions, size_t n);
int deferred_read(struct deferred *a, size_t part, uint32_t *room, deferred_visit *visit,
                  void *context);

#endif
