/* SPDX-License-Identifier: MIT
 * Positions set aside in a temporary file until their part of the body is made. The parts made
 * from them in one go are a window. Each part has a buffer in memory; full buffers go to the file,
 * in extents that hold one part each. */
#ifndef BLOOMFILE_ASIDE_H
#define BLOOMFILE_ASIDE_H

#include <stddef.h>
#include <stdint.h>

#define ASIDE_EXTENT       ((size_t)64 << 10) /* bytes */
#define ASIDE_BUFFER_MOST  ((size_t)16 << 10) /* bytes; a power of 2, like ASIDE_BUFFER_LEAST */
#define ASIDE_BUFFER_LEAST ((size_t)1 << 10)
#define ASIDE_POSITION     sizeof(uint32_t)
#define ASIDE_PART_MOST    ((uint64_t)1 << 29) /* bytes of a part with at most 2^32 units */

struct aside_plan {
    const char *folder; /* as for spool_file() */
    unsigned k;
    uint64_t units; /* of the body */
    unsigned shift; /* a part has 2^shift units, at most 2^32 */
    size_t parts;   /* in a window */
    size_t buffer;  /* bytes for each part, of each writer */
};

/* Shared by the threads. */
struct aside;

/* 0, ENOMEM, or an error from creating the file. */
int aside_new(struct aside **out, const struct aside_plan *plan);

/* Starts a window whose first part begins with unit `first`; forgets all positions. */
void aside_start(struct aside *a, uint64_t first);

void aside_free(struct aside *a);

/* One thread's buffers. */
struct aside_writer;
int aside_writer_new(struct aside_writer **out, struct aside *a); /* 0 or ENOMEM */
void aside_writer_free(struct aside_writer *w);

/* Sets aside those positions of the digests that fall into the window. */
void aside_add(struct aside_writer *w, const uint64_t *digests, size_t n);

/* Ends a window. 0, or the first error since it began: ENOMEM or a write error. */
int aside_end(struct aside_writer *w);

/* Once all writers have ended: calls visit(context, positions, n) with the positions of one part,
 * counted from the start of that part, in batches of at most ASIDE_EXTENT bytes. `room` holds that
 * many bytes. 0, or a read error; EIO if the file is not what was written. */
typedef void aside_visit(void *context, const uint32_t *positions, size_t n);
int aside_read(struct aside *a, size_t part, uint32_t *room, aside_visit *visit, void *context);

#endif
