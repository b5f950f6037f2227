/* SPDX-License-Identifier: MIT
 *
 * The rows of several tables as one sequence of ascending keys. Of equal keys the newest is kept.
 * (mtbl_merger does not say which of two equal keys is the newer, and drops the empty key.)
 */
#ifndef MERGE_H
#define MERGE_H

#include "table.h"

struct merge;

/* Newest first. */
struct merge *merge_new(const struct table *tables, size_t count);

/* The next row, valid until the next call; false: there is none. */
bool merge_next(struct merge *m, struct row *row);

void merge_free(struct merge *m);

#endif
