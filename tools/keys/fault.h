/* SPDX-License-Identifier: MIT
 *
 * Errors in records that have no valid key.
 */
#ifndef TOOLS_KEYS_FAULT_H
#define TOOLS_KEYS_FAULT_H

#include <bloomfile.h>
#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
    FAULT_NONE,
    FAULT_NO_FIELD,   /* field `number` is missing */
    FAULT_QUOTE,      /* CSV: a closing quote is not followed by a delimiter */
    FAULT_OPEN_QUOTE, /* CSV: a quote is never closed */
    FAULT_NO_VALUE,   /* JSON: no text at the path; `number` is the reason */
    FAULT_JSON,       /* JSON: the line is not valid; `number` is the error */
    FAULT_BLANK,      /* JSON: the line is blank, and blank lines are ignored */
    FAULT_MEMORY,     /* not enough memory for the record */

    /* The key does not match an option: */
    FAULT_SIZE,     /* not `number` bytes */
    FAULT_HEX_SIZE, /* not `number` bytes in hexadecimal */
    FAULT_HEX_ODD,
    FAULT_HEX,
    FAULT_INTEGER,
    FAULT_DOMAIN,
    FAULT_DOT /* a domain name that ends with a dot */
};

/* `number` of FAULT_NO_VALUE: the kind of value at the path. */
enum {
    FAULT_ABSENT = 1,
    FAULT_NULL,
    FAULT_OBJECT,
    FAULT_ARRAY
};

/* `number` of FAULT_JSON. */
enum {
    FAULT_SYNTAX,
    FAULT_UTF8,
    FAULT_STRING,
    FAULT_NUMBER,
    FAULT_DEPTH
};

struct fault {
    enum fault_kind kind;
    uint32_t number;
};

/* Whether --missing applies to the fault. Every other fault is an error. */
static inline bool fault_is_missing(struct fault fault)
{
    return fault.kind == FAULT_NO_FIELD || fault.kind == FAULT_NO_VALUE;
}

/* The input that stands for keys on the command line. */
extern const char fault_command_line[];

/* A record without a valid key, for the message. */
struct fault_place {
    const char *input; /* name of the input */
    uint64_t line;     /* first line of the record */
    struct bloomfile_key key;
    const char *json; /* the JSON path of the key; NULL: none */
    bool strips_cr;   /* --crlf would strip a carriage return at the end of the record */
};

/* Returns the message for a fault, with its place and remedy, from malloc(). */
char *fault_describe(struct fault fault, const struct fault_place *at);

#endif
