/* SPDX-License-Identifier: MIT
 *
 * Sorted runs of digests, in memory or in a file, read as one: ascending, equal ones once.
 *
 * Digests are spread evenly, so a digest's place in a run is found with a few reads near to where
 * it is to be expected; runs need no index. What is not spread evenly only takes more reads.
 */
#ifndef BLOOMFILE_RUNS_H
#define BLOOMFILE_RUNS_H

#include <stddef.h>
#include <stdint.h>

struct run {
    const uint64_t *values; /* NULL: in the file, from `offset` on */
    uint64_t offset;
    uint64_t count; /* above 0; ascending and distinct */
    uint64_t least, greatest;
};

struct runs {
    struct run *list;
    size_t count, room;
    int fd;             /* of those in the file */
    uint64_t sum;       /* of all digests in the file, modulo 2^64 */
    unsigned lane_bits; /* the topmost bits, in which a run's digests are alike */
};

/* Makes room for one more. 0 or ENOMEM. */
int runs_reserve(struct runs *runs, size_t count);

/* What one thread needs for reading. */
struct reader;

/* `room`: how many digests to take in at once, about. 0 or ENOMEM. */
int runs_reader(struct reader **out, const struct runs *runs, size_t room);

/* Calls visit(context, digests, n) with the distinct digests in [first, last], in ascending order,
 * some at a time. 0, or an error of reading: EIO if the file is not as it was written. */
typedef void runs_visit(void *context, const uint64_t *digests, size_t n);
int runs_read(struct reader *reader, uint64_t first, uint64_t last, runs_visit *visit,
              void *context);

/* The sum of the digests in the file that have been read so far. If all of them have been and it is
 * not runs->sum, some were lost: an error of writing may come after the write. */
uint64_t runs_reader_sum(const struct reader *reader);

void runs_reader_free(struct reader *reader);

#endif
