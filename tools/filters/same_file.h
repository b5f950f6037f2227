/* SPDX-License-Identifier: MIT
 *
 * Detection of names of one file. No input of a tool may be an output, and no two outputs one file.
 * Names are as on the command line: as an input "-" is standard input, as an output standard
 * output. Only regular files count: a terminal, a pipe or /dev/null may be both.
 */
#ifndef TOOLS_FILTERS_SAME_FILE_H
#define TOOLS_FILTERS_SAME_FILE_H

#include "cli/names.h"

/* Whether what is written to `output` goes into the file that `input` is read from, or takes its
 * place. */
bool same_file_is(const char *output, const char *input);

/* The same for a filter, which may be a live series: each of its files, and those with the names of
 * layers that are yet to make. */
bool same_file_is_filter(const char *output, const char *filter);

/* Ends the program if one of the inputs is also the output (count 0: standard input): answers that
 * are appended to it are read as input again, without end; if the shell has emptied it (>), there
 * is nothing to answer any more; and a file that takes its place loses it. To be called before
 * anything is read. */
void same_file_check_inputs(const char *output, char *const *paths, int count);

/* Also checks the lists of names (--files-from). */
void same_file_check_names(const char *output, const struct names *inputs);

/* Whether both outputs go to one file, which may be yet to make. */
bool same_file_are_same(const char *output, const char *other);

/* Ends the program if they do. */
void same_file_check_outputs(const char *output, const char *other);

#endif
