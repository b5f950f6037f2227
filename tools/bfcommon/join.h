/* SPDX-License-Identifier: MIT
 * The second half of the comparison: the lines that the passes kept are sorted and compared. */
#ifndef TOOLS_BFCOMMON_JOIN_H
#define TOOLS_BFCOMMON_JOIN_H

#include "bfcommon/extsort.h"
#include "bfcommon/passes.h"

/* Both print the lines, unless job->count_only, and return their number. If `into` is not NULL, the
 * lines go to that spool instead, in order, each once. They free the spools that they take, and set
 * those in `kept` to NULL. A line is printed only when it is certain. */
uint64_t join_common(const struct job *job, struct spool **kept, struct spool *into);
uint64_t join_difference(const struct job *job, struct parts *parts, struct spool *into);

/* Adds the keys of a spool to a new sort. The caller calls extsort_finish(). */
struct extsort *join_sort(const struct job *job, const struct spool *s);

/* Prints a line. If `before`, the number of lines printed so far, is 0, prints the header first. */
void join_print(const struct job *job, uint64_t before, const struct bloomfile_key *line);

void join_print_header(const struct job *job);

/* ---- Whole lines, printed once the wanted keys, which are fields of them, are known. */

/* Prints the distinct lines of an input whose key, made of fields, is in `keys`. They are in order.
 * If job->count_only, they are only counted. Returns their number, and frees the spool. */
uint64_t whole_lines(const struct job *job, struct input *in, struct spool *keys);

#endif
