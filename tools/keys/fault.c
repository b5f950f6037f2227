/* SPDX-License-Identifier: MIT
 * Faults of records in words, with the number of the line and the remedy. */
#include "keys/fault.h"

#include <inttypes.h>
#include <stdio.h>

#define QUOTES_REMEDY                                                                              \
    " (write a quote inside quotes twice; without --csv, quotes are ordinary bytes)"

/* Both by the number of the fault. */
static const char *const at_path[] = { "", "missing", "null", "an object", "an array" };
static const char *const wrong_with[] = {
    [FAULT_SYNTAX] = "is not one whole JSON value",
    [FAULT_UTF8] = "is not valid JSON: it has bytes that are not UTF-8",
    [FAULT_STRING] = "is not valid JSON: a string is not closed, or has a control character, an "
                     "unknown escape or half of a surrogate pair",
    [FAULT_NUMBER] = "is not valid JSON: a number is malformed",
    [FAULT_DEPTH] = "nests arrays and objects more than 1024 deep",
};

void fault_describe(struct fault fault, uint64_t line, char text[FAULT_TEXT])
{
    switch (fault.kind) {
    case FAULT_NONE:
        text[0] = '\0';
        break;
    case FAULT_NO_FIELD:
        snprintf(text, FAULT_TEXT,
                 "line %" PRIu64 " has no field %" PRIu32
                 " (skip such lines: --missing skip; use an empty field: --missing empty; set the "
                 "field delimiter: --delimiter C)",
                 line, fault.number);
        break;
    case FAULT_QUOTE:
        snprintf(text, FAULT_TEXT,
                 "in the record that begins at line %" PRIu64
                 ", a closing quote is not followed by a delimiter" QUOTES_REMEDY,
                 line);
        break;
    case FAULT_OPEN_QUOTE:
        snprintf(text, FAULT_TEXT,
                 "the quote that opens a field in line %" PRIu64 " is never closed" QUOTES_REMEDY,
                 line);
        break;
    case FAULT_NO_VALUE:
        snprintf(text, FAULT_TEXT,
                 "in line %" PRIu64
                 ", the value at the JSON path is %s (skip such lines: --missing "
                 "skip; use an empty key: --missing empty)",
                 line, at_path[fault.number]);
        break;
    case FAULT_JSON:
        snprintf(text, FAULT_TEXT, "line %" PRIu64 " %s (print it: sed -n %" PRIu64 "p FILE)", line,
                 wrong_with[fault.number], line);
        break;
    case FAULT_BLANK:
        snprintf(text, FAULT_TEXT, "line %" PRIu64 " is blank", line);
        break;
    case FAULT_MEMORY:
        snprintf(text, FAULT_TEXT, "there is not enough memory for line %" PRIu64, line);
        break;
    }
}
