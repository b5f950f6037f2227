/* SPDX-License-Identifier: MIT
 * A part of a body of the layout ribbon: collects its digests, and solves page by page. */
#ifndef BLOOMFILE_SOLVER_H
#define BLOOMFILE_SOLVER_H

#include "kernel/kernel.h"

#define SOLVER_SHARE 32 /* bytes of memory for one of body, on top of the room for a page */

struct solver;

/* For parts of up to `pages` pages. 0 or ENOMEM. */
int solver_new(struct solver **out, const struct kernel *kernel, size_t pages);
void solver_free(struct solver *s);

/* Begins the part of a body of `lines` lines that begins with page `first`. */
void solver_start(struct solver *s, uint64_t first, uint64_t lines);

/* Takes distinct digests of the part. 0 or ENOMEM. */
int solver_take(struct solver *s, const uint64_t *digests, size_t n);

/* Makes the pages of the part in `bytes`, which are all zeros. 0, or BLOOMFILE_EBODY: a page does
 * not answer to its keys. */
int solver_make(struct solver *s, uint8_t *bytes, size_t pages);

#endif
