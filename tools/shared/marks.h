/* SPDX-License-Identifier: MIT
 *
 * Where the ends of lines are, with what the processor has for that.
 */
#ifndef BLOOMFILE_TOOLS_MARKS_H
#define BLOOMFILE_TOOLS_MARKS_H

#include <bloomfile.h>

enum {
    MARKS_BLOCK = 64
};

/* Finds the marks in the whole blocks from `at` on, in order, and sets the data of keys[0 ..] to
 * where they are. Returns how many there are; if that is more than max - 2, it may be fewer, but
 * the first ones. All of keys[0 .. max) is overwritten. */
typedef size_t marks_find(const uint8_t *at, const uint8_t *end, uint8_t mark,
                          struct bloomfile_key *keys, size_t max);

/* The fastest that this processor has. */
marks_find *marks_finder(void);

/* What there is: without vectors it finds none at all. */
marks_find marks_find_none;
#ifdef __SSE2__
marks_find marks_find_sse2, marks_find_avx2;
#endif

#endif
