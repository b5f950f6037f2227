/* SPDX-License-Identifier: MIT
 * Keys from files or standard input: lines, NUL-separated strings, or fixed-size binary records, of
 * any bytes and any length, read in large pieces. */
#ifndef TOOLS_KEYS_KEYS_H
#define TOOLS_KEYS_KEYS_H

#include "keys/keys_options.h"
#include "keys/split.h"

#include <bloomfile.h>

enum {
    KEYS_BATCH = 1024 /* keys that a loop takes per step */
};

struct keys;

/* Starts to read `count` inputs, one after the other; "-" is standard input. If count is 0, reads
 * standard input, unless options->given has keys. Running out of memory ends the program. So does a
 * path that is missing, unreadable or a directory, before anything is read, unless keep_going. */
struct keys *keys_new(const struct keys_options *options, char *const *paths, int count);

/* Reads up to `max` keys into keys[0 ..], in order, and returns their number. They point into a
 * buffer that stays valid until the next call. Returns 0 at the end of the last input. After an
 * interrupt_signal, which also ends a wait, it returns 0 when the keys read before are used up,
 * without a partial key.
 *
 * The end of a file ends a key. Otherwise a key is never split, and two keys are never joined.
 *
 * These errors end the program through cli_fail(), unless keep_going: a file that cannot be opened
 * or read, a directory, a faulty record, an incomplete last record. After a faulty record nothing
 * more is read, even with keep_going. */
size_t keys_next(struct keys *k, struct bloomfile_key *keys, size_t max);

/* Whole keys of one input, for callers that split them themselves. Each key has its end byte, even
 * if it was missing at the end of the input. Initialize the struct with zeros. */
struct keys_piece {
    uint8_t *bytes;
    size_t size, room;
    size_t header;        /* bytes at the front that are the header, not keys */
    bool is_first_header; /* header of the first input; later headers are the same */
    const char *path;     /* of the input, as from keys_path() */
    const char *operand;  /* as the user named it; may be "-" */

    /* For keys that are fields, are converted, or are numbered: */
    uint64_t number; /* of the piece */
    uint64_t line;   /* line number of the first record in the input */
    uint8_t *joined; /* room for keys that differ from their records */
    size_t joined_room;
    struct json_parser *json; /* the parser that splits this piece */
};

void keys_piece_free(struct keys_piece *piece);

/* Reads the next piece, in order, and replaces the contents of *piece. It has piece_size
 * bytes, more if a single key needs them, and fewer at the end of an input. It may have fewer
 * from a pipe too, but at least piece_least. One thread may split a piece while another thread
 * reads the next one. Returns false where keys_next() returns 0. Errors are as in keys_next().
 * Do not mix the two. */
bool keys_next_piece(struct keys *k, struct keys_piece *piece);

/* Splits a piece. The split ends at a faulty record, which the caller must report
 * (split_check()). */
struct split keys_split(const struct keys *k, const struct keys_piece *piece);

/* Call this when a split has ended: counts its skipped records. Any thread may call it. */
void keys_end_split(struct keys *k, const struct split *split);

/* Call this at the end. Prints to stderr how many records were skipped, unless `quiet` or 0.
 * If all records were skipped, so that `keys` is 0, that is an error; with keep_going it is
 * only counted. */
void keys_tell_skipped(struct keys *k, uint64_t keys, bool quiet);

/* The number of inputs that failed, with keep_going. */
unsigned keys_errors(const struct keys *k);

/* For progress: bytes read so far, and of all inputs (0 if an input is not a regular file). */
uint64_t keys_bytes(const struct keys *k);
uint64_t keys_total(const struct keys *k);

/* The input being read now, as named by the user ("standard input" for "-"). */
const char *keys_path(const struct keys *k);

void keys_free(struct keys *k);

#endif
