/* SPDX-License-Identifier: MIT
 *
 * The output for matching lines: the input, the line number, and the filters that possibly contain
 * the key.
 */
#ifndef BLOOMFILE_TOOLS_QUERY_PRINT_H
#define BLOOMFILE_TOOLS_QUERY_PRINT_H

#include "bfquery/filters.h"

struct print {
    bool inputs, numbers, filters;
    const struct filters *names;
};

/* Whether anything is printed; otherwise lines are printed by batch_gather() and batch_write(). */
bool print_tells(const struct print *p);

/* Puts the chosen lines into b->text, behind the header, if it is the first one. */
void print_gather(const struct print *p, struct batch *b);

/* Ends the program by cli_usage() if the name of a filter could not be told from what follows it.
 */
void print_check_names(const struct print *p);

#endif
