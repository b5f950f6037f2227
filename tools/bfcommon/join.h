/* SPDX-License-Identifier: MIT
 *
 * The second half of the work: what the passes have kept is sorted and compared line by line.
 */
#ifndef BLOOMFILE_TOOLS_COMMON_JOIN_H
#define BLOOMFILE_TOOLS_COMMON_JOIN_H

#include "bfcommon/passes.h"

/* Both print the lines, or with job->count_only none, and return how many there are. They free the
 * spools. Nothing is printed before it is certain. */
uint64_t join_common(const struct job *job, struct spool **kept);

/* The same, but the lines go to a spool, in order, each once. */
struct spool *join_common_to_spool(const struct job *job, struct spool **kept);

uint64_t join_difference(const struct job *job, struct parts *parts);

#endif
