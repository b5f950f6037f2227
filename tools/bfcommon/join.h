/* SPDX-License-Identifier: MIT
 *
 * The second half of the comparison: the lines that the passes kept are sorted and compared line by
 * line.
 */
#ifndef TOOLS_BFCOMMON_JOIN_H
#define TOOLS_BFCOMMON_JOIN_H

#include "bfcommon/extsort.h"
#include "bfcommon/passes.h"

/* Both print the lines, or with job->count_only none, and return how many there are; unless `into`
 * is NULL, they go to that spool instead, in order, each once. They free the spools that they take,
 * and those in `kept` become NULL. Nothing is printed before it is certain. */
uint64_t join_common(const struct job *job, struct spool **kept, struct spool *into);
uint64_t join_difference(const struct job *job, struct parts *parts, struct spool *into);

/* The keys of a spool, up to extsort_finish(). */
struct extsort *join_sort(const struct job *job, const struct spool *s);

/* Prints a line, and before the first one, of which `before` is 0, the header. */
void join_print(const struct job *job, uint64_t before, const struct bloomfile_key *line);

void join_print_header(const struct job *job);

/* ---- Whole lines, printed once the wanted keys are known, which are fields of them. */

/* Prints the distinct lines of an input whose key, made of fields, is one of the keys. They are in
 * order. With job->count_only they are only counted. Returns their number, and frees the spool. */
uint64_t whole_lines(const struct job *job, struct input *in, struct spool *keys);

#endif
