/* SPDX-License-Identifier: MIT
 *
 * What is said of records that lack a field, or are no CSV.
 */
#ifndef BLOOMFILE_TOOLS_LACKING_H
#define BLOOMFILE_TOOLS_LACKING_H

#include "shared/split.h"

enum {
    LACKING_SIZE = 300
};

/* Why the split ended before its end: split->lacking. */
void lacking_describe(const struct split *split, char text[LACKING_SIZE]);

/* Of a quote in that line that is still open at the end of the input. */
void lacking_quote(uint64_t line, char text[LACKING_SIZE]);

/* Ends the program by cli_fail if there is a field that the split ended at. */
void lacking_check(const struct split *split, const char *path);

#endif
