/* SPDX-License-Identifier: MIT
 *
 * What is wrong with a record that has no key.
 */
#ifndef TOOLS_KEYS_FAULT_H
#define TOOLS_KEYS_FAULT_H

#include <bloomfile.h>
#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
    FAULT_NONE,
    FAULT_NO_FIELD,   /* the record has no field `number` */
    FAULT_QUOTE,      /* CSV: a closing quote is not followed by a delimiter */
    FAULT_OPEN_QUOTE, /* CSV: a quote is never closed */
    FAULT_NO_VALUE,   /* JSON: no text at the path; `number` says why */
    FAULT_JSON,       /* the line is not valid; `number` says why */
    FAULT_BLANK,      /* JSON: the line has nothing but space, and is not a record */
    FAULT_MEMORY,     /* there is too little for the record */

    /* The key is not as an option says: */
    FAULT_SIZE,     /* it does not have `number` bytes, */
    FAULT_HEX_SIZE, /* or is not as many in hexadecimal */
    FAULT_HEX_ODD,
    FAULT_HEX,
    FAULT_INTEGER,
    FAULT_DOMAIN
};

/* The number of FAULT_NO_VALUE: the value there. */
enum {
    FAULT_ABSENT = 1,
    FAULT_NULL,
    FAULT_OBJECT,
    FAULT_ARRAY
};

/* The number of FAULT_JSON. */
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

enum {
    FAULT_TEXT = 500
};

/* Whether --missing says what to do with the record. Every other fault is an error. */
static inline bool fault_is_missing(struct fault fault)
{
    return fault.kind == FAULT_NO_FIELD || fault.kind == FAULT_NO_VALUE;
}

/* Describes a fault of the record that begins at that line of its input, and the remedy. `key`: of
 * the record, if it has a key. */
void fault_describe(struct fault fault, uint64_t line, struct bloomfile_key key,
                    char text[FAULT_TEXT]);

#endif
