/* SPDX-License-Identifier: MIT
 * A part of a body of the layout ribbon: its digests, and its pages solved from them. */
#ifndef BLOOMFILE_SOLVER_H
#define BLOOMFILE_SOLVER_H

#include "kernel/kernel.h"

struct solver;

/* Bytes of memory that a thread takes, its part of so many pages included, if a page has so many
 * keys. */
uint64_t solver_needs(uint64_t keys, size_t pages);

/* For parts of up to `pages` pages. 0 or ENOMEM. */
int solver_new(struct solver **out, const struct kernel *kernel, size_t pages);
void solver_free(struct solver *s);

/* Begins the part of a body of `lines` lines that begins with page `first`. */
void solver_start(struct solver *s, uint64_t first, uint64_t lines);

/* Takes distinct digests of the part. 0 or ENOMEM. */
int solver_take(struct solver *s, const uint64_t *digests, size_t n);

/* Makes the pages of the part in `bytes`, which are all zeros. 0, ENOMEM, or BLOOMFILE_EBODY: a
 * page does not answer to its keys. */
int solver_make(struct solver *s, uint8_t *bytes, size_t pages);

#endif
