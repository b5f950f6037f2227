/* SPDX-License-Identifier: MIT
 *
 * What is wrong with a record that has no key.
 */
#ifndef TOOLS_KEYS_FAULT_H
#define TOOLS_KEYS_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
    FAULT_NONE,
    FAULT_NO_FIELD,  /* the record has no field `number` */
    FAULT_QUOTE,     /* CSV: a closing quote is not followed by a delimiter */
    FAULT_OPEN_QUOTE /* CSV: a quote is never closed */
};

struct fault {
    enum fault_kind kind;
    uint32_t number;
};

enum {
    FAULT_TEXT = 300
};

/* Whether --missing says what to do with the record. Every other fault is an error. */
static inline bool fault_is_missing(struct fault fault)
{
    return fault.kind == FAULT_NO_FIELD;
}

/* Describes a fault of the record that begins at that line of its input, and the remedy. */
void fault_describe(struct fault fault, uint64_t line, char text[FAULT_TEXT]);

#endif
