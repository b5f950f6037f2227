/* SPDX-License-Identifier: MIT
 *
 * A piece of the input with all its keys, and the answer for each of them.
 */
#ifndef TOOLS_KEYS_BATCH_H
#define TOOLS_KEYS_BATCH_H

#include "keys/keys.h"

/* Begins as all zero. */
struct batch {
    struct keys_piece piece;
    struct bloomfile_key *keys;
    struct bloomfile_key *lines; /* the lines with these keys; NULL: the keys are the lines */
    struct split split;          /* at its end */
    unsigned errors;             /* of inputs, up to the piece */
    bloomfile_digest *digests;
    bool *chosen; /* for the caller; of those keys that are to be printed */
    size_t count, room;
    size_t gathered; /* bytes behind the header at the front of the piece */

    /* For the caller, too: */
    void *scratch;
    uint8_t *text;
    size_t scratch_size, text_size, text_room;
};

/* Finds the keys of the piece, and their digests. Ends the program by cli_fail for lack of memory.
 */
void batch_split(struct batch *b, struct keys *input, uint64_t seed);

/* The digests of the same keys for another filter. */
void batch_hash(const struct batch *b, uint64_t seed, bloomfile_digest *digests);

/* The line of a key, with its newline. */
struct bloomfile_key batch_line(const struct batch *b, size_t i);

/* Makes b->scratch at least so large; what it held is lost. */
void batch_scratch(struct batch *b, size_t size);

/* Appends to b->text. */
void batch_put(struct batch *b, const void *bytes, size_t size);

/* Moves the chosen keys in [first, last), or their lines, unchanged and with their end bytes, to
 * the front of the piece, after a header. Overwrites the keys before them. */
void batch_gather(struct batch *b, size_t first, size_t last);

/* Copies the others of them, those that are not chosen, to `to`, which has room for the piece.
 * Returns their size. Before they are gathered. */
size_t batch_copy_others(const struct batch *b, size_t first, size_t last, uint8_t *to);

/* Writes what was gathered to standard output, past its buffer. false: errno says why not. */
bool batch_write(const struct batch *b);

/* The same for the header, if it is the first one, to any file. */
bool batch_write_header(const struct batch *b, int fd);

/* What it holds. */
void batch_free(struct batch *b);

#endif
