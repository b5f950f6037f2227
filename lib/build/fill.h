/* SPDX-License-Identifier: MIT
 *
 * From digests to a body, part by part: each part is computed by one thread, counted, summed and
 * written while it is in the cache.
 */
#ifndef BLOOMFILE_FILL_H
#define BLOOMFILE_FILL_H

#include "build/parts.h"
#include "build/runs.h"
#include "image/new_image.h"

/* Computes the body of *h (as image_describe() leaves it) and the CRC-32 of its pages, and makes
 * h->record that of a sealed image but for n; *n: the number of distinct digests. All goes to `to`.
 * 0; ENOMEM; an error of reading the runs or of writing. */
int fill_body(struct header *h, const struct runs *runs, const struct fill_plan *plan,
              const struct new_image *to, uint64_t *n);

#endif
