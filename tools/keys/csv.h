/* SPDX-License-Identifier: MIT
 *
 * Records whose fields may be in quotes (RFC 4180): a quote that begins a field ends it too, and
 * two of them stand for one; between them delimiters and newlines are nothing special. A quote
 * anywhere else is an ordinary byte.
 */
#ifndef TOOLS_KEYS_CSV_H
#define TOOLS_KEYS_CSV_H

#include "keys/fields.h"

/* Where a reader is that has seen all bytes up to there. */
enum csv_state {
    CSV_BEGIN, /* of a field */
    CSV_PLAIN,
    CSV_QUOTED,
    CSV_QUOTE /* behind one that ends the field, or is the first of two */
};

/* How many of the next bytes of an input are up to the last end of a record; 0: there is none. */
size_t csv_whole(enum csv_state *state, uint8_t delimiter, const uint8_t *bytes, size_t size);

/* The first record, with its end; all bytes if that is not there. */
size_t csv_first(uint8_t delimiter, const uint8_t *bytes, size_t size);

/* The lines before that of the quote that is open at the end, from the beginning of a record on. */
uint64_t csv_lines_to_open(uint8_t delimiter, const uint8_t *bytes, size_t size);

/* Reads the field of a record that begins at *at. A field in quotes is decoded into *room, which is
 * advanced. Sets *at to after the delimiter or newline that ends the field, or to after `end`.
 * Returns false if neither follows a closing quote. */
bool csv_next(const struct fields *f, const uint8_t **at, const uint8_t *end, uint8_t **room,
              struct bloomfile_key *field);

/* Reads the record that begins at *at, and sets *at to its end, a newline or `end`. The key is that
 * of fields_find(), without quotes. In a key of several fields, a field that contains a delimiter,
 * a quote or the end of a line is in quotes. FAULT_QUOTE leaves *at unchanged. */
struct fault csv_find(const struct fields *f, const uint8_t **at, const uint8_t *end,
                      uint8_t **room, struct bloomfile_key *key);

#endif
