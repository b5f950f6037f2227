/* SPDX-License-Identifier: MIT
 *
 * Errors of records that lack a field, or are not valid CSV.
 */
#ifndef TOOLS_KEYS_MISSING_FIELDS_H
#define TOOLS_KEYS_MISSING_FIELDS_H

#include "keys/split.h"

enum {
    MISSING_FIELDS_SIZE = 300
};

/* Why the split ended before its end: split->missing_field. */
void missing_fields_describe(const struct split *split, char text[MISSING_FIELDS_SIZE]);

/* Of a quote in that line that is still open at the end of the input. */
void missing_fields_quote(uint64_t line, char text[MISSING_FIELDS_SIZE]);

/* Ends the program by cli_fail if there is a field that the split ended at. */
void missing_fields_check(const struct split *split, const char *path);

#endif
