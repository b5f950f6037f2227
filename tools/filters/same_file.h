/* SPDX-License-Identifier: MIT
 * Detecting two names for the same file: an input of a tool must not be its output, and two outputs
 * must be two files. Names are as on the command line: "-" is standard input as an
 * input, and standard output as an output. Only regular files count: a terminal, a pipe or
 * /dev/null may be both. */
#ifndef TOOLS_FILTERS_SAME_FILE_H
#define TOOLS_FILTERS_SAME_FILE_H

#include "cli/names.h"

/* Whether writing `output` changes or replaces the file that `input` is read from. */
bool same_file_is(const char *output, const char *input);

/* same_file_is() for a filter. If it is a live series, compares all its files, including the names
 * of layers that do not exist yet. */
bool same_file_is_filter(const char *output, const char *filter);

/* Ends the program if an input is also the output (count 0: standard input). Call it before
 * anything is read. Results that are appended to an input would be read as input again,
 * endlessly. If the shell has emptied the input (>), nothing is left to read. A file that
 * replaces the input destroys it. */
void same_file_check_inputs(const char *output, char *const *paths, int count);

/* Also checks the lists of names (--files-from). */
void same_file_check_names(const char *output, const struct names *inputs);

/* Whether both outputs go to the same file, which may not exist yet. */
bool same_file_are_same(const char *output, const char *other);

/* Ends the program if both outputs go to the same file. */
void same_file_check_outputs(const char *output, const char *other);

#endif
