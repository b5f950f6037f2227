/* SPDX-License-Identifier: MIT
 * Error messages for records without a valid key, with the line number and the remedy. */
#include "keys/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/text.h"

enum {
    SHOWN = 40 /* bytes of a key */
};

#define QUOTES_REMEDY                                                                              \
    " (write a quote inside quotes twice; without --csv, quotes are ordinary bytes)"
#define FIELD_REMEDY                                                                               \
    " (choose a field: --field N --delimiter C, or --json PATH; skip a header line: --header)"

/* Indexed by the number of the fault. */
static const char *const at_path[] = { "", "missing", "null", "an object", "an array" };
static const char *const wrong_with[] = {
    [FAULT_SYNTAX] = "is not one whole JSON value",
    [FAULT_UTF8] = "is not valid JSON: it has bytes that are not UTF-8",
    [FAULT_STRING] = "is not valid JSON: a string is open, or has a control byte or wrong escape",
    [FAULT_NUMBER] = "is not valid JSON: a number is malformed",
    [FAULT_DEPTH] = "nests arrays and objects more than 1024 deep",
};

/* Describes a key that an option does not allow. */
static void describe_key(struct fault fault, uint64_t line, struct bloomfile_key key,
                         char text[FAULT_TEXT])
{
    char is[100];
    const char *remedy = FIELD_REMEDY;
    const size_t shown = key.size < SHOWN ? key.size : SHOWN;
    char *safe = text_safe(key.data, shown, true);
    switch (fault.kind) {
    case FAULT_SIZE:
        snprintf(is, sizeof(is), "does not have %" PRIu32 " byte%s", fault.number,
                 cli_s(fault.number));
        break;
    case FAULT_HEX_SIZE:
        snprintf(is, sizeof(is), "is not %" PRIu32 " byte%s in hexadecimal", fault.number,
                 cli_s(fault.number));
        break;
    case FAULT_HEX_ODD:
        snprintf(is, sizeof(is), "has an odd number of hexadecimal digits");
        break;
    case FAULT_INTEGER:
        snprintf(is, sizeof(is), "is not an integer from -2^63 to 2^64 - 1");
        break;
    case FAULT_DOMAIN:
        snprintf(is, sizeof(is), "is not a domain name");
        remedy = " (leave out comments, wildcards and leading dots; choose a field: --field N "
                 "--delimiter C, or --json PATH)";
        break;
    default:
        snprintf(is, sizeof(is), "is not hexadecimal");
        break;
    }
    snprintf(text, FAULT_TEXT, "line %" PRIu64 ": the key '%s%s' %s%s", line, safe,
             shown < key.size ? "..." : "", is, remedy);
    free(safe);
}

void fault_describe(struct fault fault, uint64_t line, struct bloomfile_key key,
                    char text[FAULT_TEXT])
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
    default:
        describe_key(fault, line, key, text);
        break;
    }
}
