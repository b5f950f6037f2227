/* SPDX-License-Identifier: MIT
 *
 * Rows to ship: lines "key<TAB>value", sorted by key as RocksDB sorts, bytewise. A key is any bytes
 * but TAB and newline, and may be empty; a value is any bytes but newline.
 */
#ifndef ROWS_H
#define ROWS_H

#include <bloomfile.h>

struct row {
    struct bloomfile_key key, value;
};

struct rows {
    char *text;
    struct row *row;
    size_t count;
};

/* All rows of a file; path "-": of standard input. Trouble, a key that is there twice, and a line
 * without TAB end the program. */
struct rows rows_read(const char *path);
void rows_free(struct rows *rows);

#endif
