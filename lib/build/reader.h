/* SPDX-License-Identifier: MIT
 *
 * Runs and partitions of digests read as one, in pieces that stay in the cache: equal digests once.
 */
#ifndef BLOOMFILE_READER_H
#define BLOOMFILE_READER_H

#include "build/runs.h"

#define READER_EACH  12u                 /* bytes of memory for a digest that is taken in at once */
#define READER_SHARE ((uint64_t)1 << 14) /* digests; for fewer a thread is not worth it */

/* What one thread needs for reading. */
struct reader;

/* `room`: how many digests to take in at once, about. 0 or ENOMEM. */
int reader_new(struct reader **out, const struct runs *runs, size_t room);

/* Calls visit(context, digests, n) with the distinct digests in [first, last], those of
 * neighbouring ranges at a time. 0, or an error of reading: EIO if the file is not as it was
 * written. */
typedef void reader_visit(void *context, const uint64_t *digests, size_t n);
int reader_read(struct reader *reader, uint64_t first, uint64_t last, reader_visit *visit,
                void *context);

/* The sum of the digests in the file that have been read so far. If all of them have been and it is
 * not runs->sum, some were lost: an error of writing may come after the write. */
uint64_t reader_sum(const struct reader *reader);

void reader_free(struct reader *reader);

#endif
