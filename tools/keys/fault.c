/* SPDX-License-Identifier: MIT
 * Error messages for records without a valid key, with the line number and the remedy. */
#include "keys/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"

enum {
    SHOWN = 40 /* bytes of a key */
};

#define MISSING_REMEDY "skip such lines: --missing skip; use an empty "
#define QUOTES_REMEDY                                                                              \
    "(write a quote inside quotes twice; without --csv, quotes are ordinary bytes)"

/* Indexed by the number of the fault. */
static const char *const at_path[] = { "", "has no value", "has null", "has an object",
                                       "has an array" };
static const char *const wrong_with[] = {
    [FAULT_SYNTAX] = "is not one whole JSON value",
    [FAULT_UTF8] = "is not valid JSON: it has bytes that are not UTF-8",
    [FAULT_STRING] = "is not valid JSON: a string is open, or has a control byte or wrong escape",
    [FAULT_NUMBER] = "is not valid JSON: a number is malformed",
    [FAULT_DEPTH] = "nests arrays and objects more than 1024 deep",
};

const char fault_command_line[] = "(command line)";

/* Whether a key is decimal digits after an optional '-': an integer, but out of range. */
static bool is_number(const struct bloomfile_key *key)
{
    const char *text = key->data;
    size_t at = key->size > 0 && text[0] == '-';
    const size_t first = at;
    while (at < key->size && text[at] >= '0' && text[at] <= '9')
        at++;
    return at == key->size && at > first;
}

static void put_wrong(FILE *out, struct fault fault, const struct bloomfile_key *key)
{
    switch (fault.kind) {
    case FAULT_SIZE:
    case FAULT_HEX_SIZE:
        fprintf(out, "has %zu byte%s, not %" PRIu32 "%s", key->size, cli_s(key->size),
                fault.number * (fault.kind == FAULT_SIZE ? 1 : 2),
                fault.kind == FAULT_SIZE ? "" : " hexadecimal digits");
        break;
    case FAULT_HEX_ODD:
        fprintf(out, "has an odd number of hexadecimal digits");
        break;
    case FAULT_INTEGER:
        fprintf(out, is_number(key) ? "is out of range: integers are from -2^63 to 2^64 - 1"
                                    : "is not a decimal integer, with no sign but '-'");
        break;
    case FAULT_DOMAIN:
        fprintf(out, "is not a domain name: letters, digits, '-' and '_' between single dots");
        break;
    case FAULT_DOT:
        fprintf(out, "ends with a dot (delete the dot: sed 's/\\.$//')");
        break;
    default:
        fprintf(out, "is not hexadecimal");
        break;
    }
}

/* Describes a key that an option does not allow. */
static void put_key(FILE *out, struct fault fault, const struct fault_place *at)
{
    const struct bloomfile_key *key = &at->key;
    const bool is_given = at->input == fault_command_line;
    const bool has_mark = key->size >= 3 && memcmp(key->data, "\xEF\xBB\xBF", 3) == 0;
    const size_t shown = key->size < SHOWN ? key->size : SHOWN;
    char *safe = text_safe(key->data, shown, true);
    if (!is_given)
        fprintf(out, "line %" PRIu64 " of %s: ", at->line, at->input);
    fprintf(out, "the key '%s%s' ", safe, shown < key->size ? "..." : "");
    free(safe);
    put_wrong(out, fault, key);
    if (at->strips_cr && key->size > 0 && ((const char *)key->data)[key->size - 1] == '\r')
        fprintf(out, " (the line ends with a carriage return: add --crlf to strip it)");
    else if (is_given && (fault.kind == FAULT_HEX || fault.kind == FAULT_HEX_ODD))
        fprintf(out, " (write two digits for each byte, such as 00ff)");
    else if (is_given && fault.kind == FAULT_INTEGER)
        fprintf(out, " (write an integer such as 42 or -7)");
    else if (!is_given && fault.kind != FAULT_DOT && at->json == NULL)
        fprintf(out, " (choose a field: --field N --delimiter C, or --json PATH%s)",
                at->line > 1 || has_mark ? "" : "; if line 1 is a header, skip it: --header");
}

char *fault_describe(struct fault fault, const struct fault_place *at)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        text_no_memory();
    switch (fault.kind) {
    case FAULT_NO_FIELD:
        fprintf(out,
                "line %" PRIu64 " of %s has no field %" PRIu32 " (" MISSING_REMEDY
                "field: --missing empty; set the field delimiter: --delimiter C)",
                at->line, at->input, fault.number);
        break;
    case FAULT_QUOTE:
        fprintf(out,
                "line %" PRIu64 " of %s begins a record with a closing quote that is not followed "
                "by a delimiter " QUOTES_REMEDY,
                at->line, at->input);
        break;
    case FAULT_OPEN_QUOTE:
        fprintf(out, "line %" PRIu64 " of %s opens a quote that is never closed " QUOTES_REMEDY,
                at->line, at->input);
        break;
    case FAULT_NO_VALUE:
        fprintf(out, "line %" PRIu64 " of %s %s at '%s' (" MISSING_REMEDY "key: --missing empty)",
                at->line, at->input, at_path[fault.number], at->json);
        break;
    case FAULT_JSON:
        fprintf(out, "line %" PRIu64 " of %s %s", at->line, at->input, wrong_with[fault.number]);
        break;
    case FAULT_MEMORY:
        fprintf(out, "no memory for line %" PRIu64 " of %s", at->line, at->input);
        break;
    default:
        put_key(out, fault, at);
        break;
    }
    if (fclose(out) != 0)
        text_no_memory();
    return text;
}
