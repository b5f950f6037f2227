/* SPDX-License-Identifier: MIT
 *
 * Keys from files or standard input: lines, NUL-separated strings, or fixed-size binary records, of
 * any bytes and any length, read in large pieces.
 */
#ifndef TOOLS_KEYS_KEYS_H
#define TOOLS_KEYS_KEYS_H

#include "keys/keys_options.h"
#include "keys/split.h"

#include <bloomfile.h>

enum {
    KEYS_BATCH = 1024 /* keys that a loop takes at once */
};

struct keys;

/* `paths` (count of them, "-" is standard input, count 0 too unless keys are given) are read one
 * after the other. On a terminal, says how to end the input. Ends
 * the program by cli_fail for lack of memory and, unless keep_going, for a path that is missing,
 * not readable or a directory, before anything is read. */
struct keys *keys_new(const struct keys_options *options, char *const *paths, int count);

/* Up to `max` keys, in order, in keys[0 ..]. They point into a buffer that stays valid until the
 * next call. 0: the end of the last input, or of what was read before the interrupt_signal, which
 * also ends a wait; a part of a key is not handed out. A file that cannot be opened or read, a
 * directory, a fault of a record, and an incomplete last record end the program by
 * cli_fail, unless keep_going; nothing is read beyond such a record even then. The end of a file
 * ends a key; otherwise a key is never split, nor two joined. */
size_t keys_next(struct keys *k, struct bloomfile_key *keys, size_t max);

/* Whole keys of one input, each with its end, which the last one may have lacked, for programs that
 * split them themselves. Begins as all zero. */
struct keys_piece {
    uint8_t *bytes;
    size_t size, room;
    size_t header;        /* of which so many at the front are the input's, and no keys */
    bool is_first_header; /* the others are the same */
    const char *path;     /* of the input, as keys_path() */
    const char *operand;  /* the same as the user named it, "-" too */

    /* For keys that are fields, are converted, or are numbered: */
    uint64_t number; /* of the piece */
    uint64_t line;   /* the number that the first record has in the input */
    uint8_t *joined; /* room for keys that differ from their records */
    size_t joined_room;
    struct json_parser *json; /* the parser for its split */
};

void keys_piece_free(struct keys_piece *piece);

/* Reads the next piece, in order, in place of what *piece held: piece_size bytes, fewer at the end
 * of an input and from a pipe, but not fewer than piece_least, and more if one key needs it. One
 * thread may split a piece while another reads the next one. false: what keys_next() returns 0
 * for; the other endings are the same too. Not to be mixed with keys_next(). */
bool keys_next_piece(struct keys *k, struct keys_piece *piece);

/* Ends at a faulty record, which the caller must report (split_check). */
struct split keys_split(const struct keys *k, const struct keys_piece *piece);

/* Call with what has been split to its end: counts what was left out. By any thread. */
void keys_end_split(struct keys *k, const struct split *split);

/* At the end: tells on standard error, unless `quiet`, how many records were left out, if any were.
 * That all were, so that there are no `keys`, is an error; keep_going counts it. */
void keys_tell_skipped(struct keys *k, uint64_t keys, bool quiet);

/* How many inputs were given up, with keep_going. */
unsigned keys_errors(const struct keys *k);

/* For progress: bytes read so far, and in all inputs together, 0 if one of them is no regular file.
 */
uint64_t keys_bytes(const struct keys *k);
uint64_t keys_total(const struct keys *k);

/* The input being read now, as named by the user ("standard input" for "-"). */
const char *keys_path(const struct keys *k);

void keys_free(struct keys *k);

#endif
