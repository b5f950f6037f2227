/* SPDX-License-Identifier: MIT
 *
 * Construction of a body from digests, part by part: each part is computed by one thread, counted,
 * summed and written while it is in the cache.
 */
#ifndef BLOOMFILE_FILL_H
#define BLOOMFILE_FILL_H

#include "build/parts.h"
#include "build/runs.h"

/* Computes the body of *h (as image_describe() leaves it) and the CRC-32 of its pages, and makes
 * h->record that of a sealed image but for n; *n: the number of distinct digests. The body goes to
 * `body`; or if that is NULL, to the file, at h->body_offset. `table`: room for the
 * CRC-32. 0; ENOMEM; an error of reading the runs or of writing. */
int fill_body(struct header *h, const struct runs *runs, const struct fill_plan *plan,
              uint8_t *body, int fd, uint8_t *table, uint64_t *n);

#endif
