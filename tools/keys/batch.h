/* SPDX-License-Identifier: MIT
 * A piece of the input with all its keys, and the result of each key's lookup. */
#ifndef TOOLS_KEYS_BATCH_H
#define TOOLS_KEYS_BATCH_H

#include "keys/keys.h"

/* Initialize it with zeros. */
struct batch {
    struct keys_piece piece;
    struct bloomfile_key *keys;
    struct bloomfile_key *lines; /* the lines of these keys; NULL: keys are whole lines */
    struct split split;          /* after all keys are split */
    unsigned errors;             /* inputs that failed, up to this piece */
    bloomfile_digest *digests;
    bool *chosen; /* set by the caller for keys to be printed */
    size_t count, room;
    size_t gathered; /* bytes gathered after the header, at the front of the piece */

    /* Also for the caller: */
    void *scratch;
    uint8_t *text;
    size_t scratch_size, text_size, text_room;
};

/* Finds the keys of the piece and their digests. Running out of memory ends the program. */
void batch_split(struct batch *b, struct keys *input, uint64_t seed);

/* Computes the digests of the same keys with another seed. */
void batch_hash(const struct batch *b, uint64_t seed, bloomfile_digest *digests);

/* Returns the line of a key, with its newline. */
struct bloomfile_key batch_line(const struct batch *b, size_t i);

/* Makes b->scratch at least that large. Its old contents are lost. */
void batch_scratch(struct batch *b, size_t size);

/* Appends to b->text. */
void batch_put(struct batch *b, const void *bytes, size_t size);

/* Moves the chosen keys in [first, last), or their lines, to the front of the piece, after a
 * header. They stay unchanged and keep their end bytes. The keys before them are overwritten. */
void batch_gather(struct batch *b, size_t first, size_t last);

/* Copies the keys or lines in [first, last) that are not chosen to `to`, which needs room for the
 * whole piece. Returns their size. Call it before batch_gather(). */
size_t batch_copy_others(const struct batch *b, size_t first, size_t last, uint8_t *to);

/* Writes the gathered bytes to standard output, bypassing its buffer. Returns false on failure,
 * with the reason in errno. */
bool batch_write(const struct batch *b);

/* Writes the header to `fd`, if it is the header of the first input. Returns false on failure. */
bool batch_write_header(const struct batch *b, int fd);

/* Frees the members, not the struct. */
void batch_free(struct batch *b);

#endif
