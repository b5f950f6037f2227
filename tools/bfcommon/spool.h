/* SPDX-License-Identifier: MIT
 * Keys in an unnamed temporary file, which is written once and then read any number of times. */
#ifndef BLOOMFILE_TOOLS_COMMON_SPOOL_H
#define BLOOMFILE_TOOLS_COMMON_SPOOL_H

#include "bfcommon/lines.h"

struct spool {
    const char *folder;
    struct keys_options form;
    int fd; /* -1: no file yet */
    uint8_t *buffer;
    size_t used;
    uint64_t bytes, keys; /* added so far */
    size_t summed;        /* bytes of the buffer that the sums include */
    uint32_t sum, since;  /* CRC-32 of all bytes, and since the last spool_mark() */
    size_t longest;       /* longest key */
};

/* This and the functions below end the program through cli_fail() if the file cannot be
 * created or written. */
struct spool *spool_new(const char *folder, const struct keys_options *form);

void spool_add(struct spool *s, const struct bloomfile_key *key);

/* Adds both, joined to a single key. */
void spool_add_pair(struct spool *s, const struct bloomfile_key *key,
                    const struct bloomfile_key *more);

/* Writes the buffer to the file and frees it. Call this before reading. */
void spool_flush(struct spool *s);

/* Returns the CRC-32 of the bytes added since the last call. */
uint32_t spool_mark(struct spool *s);

/* The whole spool, to be read with a buffer of `room` bytes, or more if a key needs it. */
struct stretch spool_all(const struct spool *s, size_t room);

/* The bytes [from, to) of the spool. `sum` is their CRC-32, from spool_mark(). */
struct stretch spool_part(const struct spool *s, uint64_t from, uint64_t to, uint32_t sum,
                          size_t room);

void spool_free(struct spool *s); /* may be NULL */

#endif
