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

/* The next field of a record from *at on, in *room, which moves on; sets *at behind what ends it,
 * a delimiter or a newline, or behind `end`. false: a closing quote is not followed by one. */
bool csv_next(const struct fields *f, const uint8_t **at, const uint8_t *end, uint8_t **room,
              struct bloomfile_key *field);

/* Takes the record that begins at *at, and sets that to its end, which is a newline or `end`. The
 * key is as by fields_find(), without quotes; but of several fields each that holds a delimiter, a
 * quote or the end of a line is in quotes. FAULT_QUOTE leaves *at as it was. */
struct fault csv_find(const struct fields *f, const uint8_t **at, const uint8_t *end,
                      uint8_t **room, struct bloomfile_key *key);

#endif
