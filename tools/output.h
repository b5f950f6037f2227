/* SPDX-License-Identifier: MIT
 *
 * Answers on standard output, beside what they are made from.
 */
#ifndef BLOOMFILE_TOOLS_OUTPUT_H
#define BLOOMFILE_TOOLS_OUTPUT_H

#include <stdbool.h>

/* Whether this file, which is read ("-": standard input), is what standard output writes to. Only
 * regular files can be: a terminal, a pipe or /dev/null may be both. */
bool output_is(const char *path);

/* Ends the program if one of the inputs is also the output ("-" is standard input, count 0 too):
 * answers that are appended to it are read as input again, without end, and if the shell has
 * emptied it (>), there is nothing to answer any more. To be called before anything is read. */
void output_check_inputs(char *const *paths, int count);

#endif
