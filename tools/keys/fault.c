/* SPDX-License-Identifier: MIT
 * Faults of records in words, with the number of the line and the remedy. */
#include "keys/fault.h"

#include <inttypes.h>
#include <stdio.h>

#define QUOTES_REMEDY                                                                              \
    " (write a quote inside quotes twice; without --csv, quotes are ordinary bytes)"

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
    }
}
