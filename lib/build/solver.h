/* SPDX-License-Identifier: MIT
 * Solving a part of a ribbon body: collecting its digests, then computing its pages. */
#ifndef BLOOMFILE_SOLVER_H
#define BLOOMFILE_SOLVER_H

#include "kernel/kernel.h"

struct solver;

/* Bytes of memory that a thread needs for a part of `pages` pages with `keys` keys each. */
uint64_t solver_needs(uint64_t keys, size_t pages);

/* Makes a solver for parts of up to `pages` pages. Returns 0 or ENOMEM. */
int solver_new(struct solver **out, const struct kernel *kernel, size_t pages);
void solver_free(struct solver *s);

/* Starts the part from page `first` on, of a body of `lines` lines. */
void solver_start(struct solver *s, uint64_t first, uint64_t lines);

/* Takes digests of the part, which must be distinct. Returns 0 or ENOMEM. */
int solver_take(struct solver *s, const uint64_t *digests, size_t n);

/* Solves the pages of the part in `bytes`, which must be zeros. Returns 0, ENOMEM, or
 * BLOOMFILE_EBODY if a lookup of a page's key fails. */
int solver_make(struct solver *s, uint8_t *bytes, size_t pages);

#endif
