/* SPDX-License-Identifier: MIT
 *
 * Whole lines, printed once the wanted keys are known, which are fields of them.
 */
#ifndef TOOLS_BFCOMMON_WHOLE_LINES_H
#define TOOLS_BFCOMMON_WHOLE_LINES_H

#include "bfcommon/passes.h"

/* Prints the different lines of an input that have one of the keys, which are closed (fields.h), in
 * order and each once; or with job->count_only none. Returns how many there are, and frees the
 * spool. */
uint64_t whole_lines(const struct job *job, struct input *in, struct spool *keys);

#endif
