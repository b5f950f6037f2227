/* SPDX-License-Identifier: MIT
 *
 * The rows of several tables as one sequence of ascending keys. Of equal keys the newest is kept.
 * (mtbl_merger does not say which of two equal keys is the newer, and drops the empty key.)
 */
#ifndef MERGE_H
#define MERGE_H

#include "table.h"

struct merge;

/* Newest first. NULL: out of memory. */
struct merge *merge_new(const struct table *tables, size_t count);

/* *row: the next row, valid until the next call, unless *end. An error has been reported. */
int merge_next(struct merge *m, struct row *row, bool *end, const struct reporter *reporter);

void merge_free(struct merge *m);

#endif
