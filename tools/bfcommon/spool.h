/* SPDX-License-Identifier: MIT
 *
 * Keys in a temporary file without a name: written once, then read as often as one likes.
 */
#ifndef BLOOMFILE_TOOLS_COMMON_SPOOL_H
#define BLOOMFILE_TOOLS_COMMON_SPOOL_H

#include "bfcommon/lines.h"

struct spool {
    const char *folder;
    struct keys_options form;
    int fd; /* -1: nothing has been written */
    uint8_t *buffer;
    size_t used;
    uint64_t bytes, keys; /* added so far */
    size_t summed;        /* bytes of the buffer that are in the sums */
    uint32_t sum, since;  /* CRC-32 of all bytes, and of those since the last spool_mark() */
    size_t longest;       /* key */
};

/* Ends the program, as the functions below do, by cli_fail if a file cannot be made or written. */
struct spool *spool_new(const char *folder, const struct keys_options *form);

void spool_add(struct spool *s, const struct bloomfile_key *key);

/* Both as one key. */
void spool_add_pair(struct spool *s, const struct bloomfile_key *key,
                    const struct bloomfile_key *more);

/* Writes what is still in memory, and frees that: before it is read. */
void spool_flush(struct spool *s);

/* The CRC-32 of what was added since the last call. */
uint32_t spool_mark(struct spool *s);

/* All of it, to be read with a buffer of `room` bytes, or more if a key needs it. */
struct stretch spool_all(const struct spool *s, size_t room);

/* The bytes [from, to) of it, of which spool_mark() told the sum. */
struct stretch spool_part(const struct spool *s, uint64_t from, uint64_t to, uint32_t sum,
                          size_t room);

void spool_free(struct spool *s); /* may be NULL */

#endif
