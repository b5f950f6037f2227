/* SPDX-License-Identifier: MIT
 *
 * Positions that are put aside, in a temporary file, until the part of the body is made that they
 * belong to. The parts made from them in one go are a window. Each part has a buffer in memory, and
 * full buffers go to the file, where a part's are together in extents.
 */
#ifndef BLOOMFILE_ASIDE_H
#define BLOOMFILE_ASIDE_H

#include <stddef.h>
#include <stdint.h>

#define ASIDE_EXTENT       ((size_t)64 << 10) /* bytes */
#define ASIDE_BUFFER_MOST  ((size_t)16 << 10) /* bytes: a power of 2, as is the least */
#define ASIDE_BUFFER_LEAST ((size_t)1 << 10)
#define ASIDE_POSITION     sizeof(uint32_t)
#define ASIDE_PART_MOST    ((uint64_t)1 << 29) /* bytes of a part that has 2^32 units at most */

struct aside_plan {
    const char *folder; /* as for spool_file() */
    unsigned k;
    uint64_t units; /* of the body */
    unsigned shift; /* a part has 2^shift units, at most 2^32 */
    size_t parts;   /* in a window */
    size_t buffer;  /* bytes for each part, of each writer */
};

/* What the threads have in common. */
struct aside;

/* 0, ENOMEM, or an error of making the file. */
int aside_new(struct aside **out, const struct aside_plan *plan);

/* Starts a window, with the part that begins with unit `first`: forgets all positions. */
void aside_start(struct aside *a, uint64_t first);

void aside_free(struct aside *a);

/* What one thread needs for putting aside. */
struct aside_writer;
int aside_writer_new(struct aside_writer **out, struct aside *a); /* 0 or ENOMEM */
void aside_writer_free(struct aside_writer *w);

/* Puts the positions of digests aside that are in the window. */
void aside_add(struct aside_writer *w, const uint64_t *digests, size_t n);

/* Ends with a window. 0, or the first error that there was since it began: ENOMEM, or one of
 * writing. */
int aside_end(struct aside_writer *w);

/* Once all writers have ended: calls visit(context, positions, n) with those of a part of the
 * window, counted from the beginning of the part, ASIDE_EXTENT bytes at most at a time. `room` has
 * so many bytes. 0, or an error of reading: EIO if the file is not as it was written. */
typedef void aside_visit(void *context, const uint32_t *positions, size_t n);
int aside_read(struct aside *a, size_t part, uint32_t *room, aside_visit *visit, void *context);

#endif
