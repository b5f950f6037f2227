/* SPDX-License-Identifier: MIT
 *
 * Where the ends of lines are, and what is between fields, with what the processor has for that.
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

/* Finds some of the marks in [at, end) by their numbers, of which the first one is 1: sets found[i]
 * to where the numbers[i]th is. The numbers ascend. Returns how many there are; the others are
 * beyond the end. Up to `limit`, at least `end`, there are bytes that can be read. */
typedef size_t marks_pick(const uint8_t *at, const uint8_t *end, const uint8_t *limit, uint8_t mark,
                          const uint32_t *numbers, size_t count, const uint8_t **found);

marks_pick *marks_picker(void);

marks_pick marks_pick_plain;
#ifdef __SSE2__
marks_pick marks_pick_sse2;
#endif
#ifdef __x86_64__
marks_pick marks_pick_pdep;
#endif

#endif
