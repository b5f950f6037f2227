/* SPDX-License-Identifier: MIT
 * Records whose fields may be quoted (RFC 4180). A field that begins with a quote ends with one,
 * and two quotes in a row inside it stand for one. Delimiters and newlines between the quotes are
 * ordinary bytes. A quote anywhere else is an ordinary byte. */
#ifndef TOOLS_KEYS_CSV_H
#define TOOLS_KEYS_CSV_H

#include "keys/fields.h"

/* The state of a reader after the bytes seen so far. */
enum csv_state {
    CSV_BEGIN, /* at the beginning of a field */
    CSV_PLAIN,
    CSV_QUOTED,
    CSV_QUOTE /* after a quote that either ends the field or is the first of two */
};

/* Reads the next bytes of an input. Returns how many of them belong to complete records; 0 if no
 * record ends in them. */
size_t csv_whole(enum csv_state *state, uint8_t delimiter, const uint8_t *bytes, size_t size);

/* Returns the size of the first record, with its end; all bytes if its end is missing. */
size_t csv_first(uint8_t delimiter, const uint8_t *bytes, size_t size);

/* Returns the number of lines before the line of the quote that is still open at the end. The bytes
 * begin at the beginning of a record. */
uint64_t csv_lines_to_open(uint8_t delimiter, const uint8_t *bytes, size_t size);

/* Reads the field of a record that begins at *at. A quoted field is decoded into *room, which is
 * advanced. Sets *at past the delimiter or newline that ends the field, or past `end`. Returns
 * false if a closing quote is not followed by the end of the field. */
bool csv_next(const struct fields *f, const uint8_t **at, const uint8_t *end, uint8_t **room,
              struct bloomfile_key *field);

/* Reads the record that begins at *at, and sets *at to its end: a newline, or `end`. The key is the
 * key of fields_find(), without quotes. If the key consists of several fields, a field that
 * contains a delimiter, a quote or a line end is quoted. FAULT_QUOTE leaves *at unchanged. */
struct fault csv_find(const struct fields *f, const uint8_t **at, const uint8_t *end,
                      uint8_t **room, struct bloomfile_key *key);

#endif
