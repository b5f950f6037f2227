/* SPDX-License-Identifier: MIT
 *
 * Rows as mtbl keeps them. An mtbl value is a byte that says what the row is, and the row's value.
 */
#ifndef ROW_H
#define ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *data;
    size_t size;
};

struct row {
    struct bytes key, value;
    bool deleted; /* hides the rows that older tables have for this key; it has no value */
};

enum {
    ROW_DELETED = 0,
    ROW_VALUE = 1
};

/* As mtbl sorts: by the bytes, a prefix first. */
int bytes_compare(struct bytes a, struct bytes b);

/* false: the value is none that a tablet has written. */
bool row_decode(struct row *row, struct bytes key, struct bytes stored);

#endif
