/* SPDX-License-Identifier: MIT
 * Errors of records that lack a field, with the number of the line and the remedy. */
#include "keys/missing_fields.h"
#include "cli/cli.h"

#include <inttypes.h>

#define QUOTES_REMEDY                                                                              \
    " (write a quote inside quotes twice; without --csv, quotes are ordinary bytes)"

void missing_fields_describe(const struct split *split, char text[MISSING_FIELDS_SIZE])
{
    if (split->missing_field == FIELDS_MALFORMED)
        snprintf(text, MISSING_FIELDS_SIZE,
                 "in the record that begins at line %" PRIu64
                 ", a closing quote is not followed by a delimiter" QUOTES_REMEDY,
                 split->line);
    else
        snprintf(text, MISSING_FIELDS_SIZE,
                 "line %" PRIu64 " has no field %" PRIu32
                 " (skip such lines: --missing skip; use an empty field: --missing empty; set the "
                 "field delimiter: --delimiter C)",
                 split->line, split->missing_field);
}

void missing_fields_quote(uint64_t line, char text[MISSING_FIELDS_SIZE])
{
    snprintf(text, MISSING_FIELDS_SIZE,
             "the quote that opens a field in line %" PRIu64 " is never closed" QUOTES_REMEDY,
             line);
}

void missing_fields_check(const struct split *split, const char *path)
{
    char text[MISSING_FIELDS_SIZE];
    if (split->missing_field == 0)
        return;
    missing_fields_describe(split, text);
    cli_fail(0, "%s: %s", path, text);
}
