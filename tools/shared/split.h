/* SPDX-License-Identifier: MIT
 *
 * Keys that stand one after the other in memory.
 */
#ifndef BLOOMFILE_TOOLS_SPLIT_H
#define BLOOMFILE_TOOLS_SPLIT_H

#include <bloomfile.h>

struct split {
    const uint8_t *at, *end; /* what is left: whole keys */
    size_t record_size;      /* of each key; 0: keys end with `mark`, which the last may lack */
    uint8_t mark;
    bool crlf; /* a '\r' before the mark is no part of the key */
};

/* The next keys, up to `max`, in keys[0 ..]. Returns how many, 0 at the end. */
size_t split_next(struct split *s, struct bloomfile_key *keys, size_t max);

/* How many bytes at the start of bytes[0 .. size) are whole keys, each with its mark. 0 too if the
 * last of them ends in the first `seen` bytes: the caller knows. */
size_t split_whole(const struct split *s, const uint8_t *bytes, size_t size, size_t seen);

#endif
