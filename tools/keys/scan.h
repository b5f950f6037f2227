/* SPDX-License-Identifier: MIT
 *
 * The search for line ends and field delimiters, with the vector instructions of the processor.
 */
#ifndef TOOLS_KEYS_SCAN_H
#define TOOLS_KEYS_SCAN_H

#include <bloomfile.h>

enum {
    SCAN_BLOCK = 64
};

/* Finds the matches in the whole blocks from `at` on, and sets keys[0 ..] to the bytes before each
 * match, in order. The first key begins at `at`. Returns the number of keys. If there are more than
 * max - 2 matches, the last of them may be left out. All of keys[0 .. max) is overwritten. */
typedef size_t scan_find(const uint8_t *at, const uint8_t *end, uint8_t wanted,
                         struct bloomfile_key *keys, size_t max);

/* The fastest that this processor has. */
scan_find *scan_finder(void);

/* What there is: without vectors it finds none at all. */
scan_find scan_find_none;
#ifdef __SSE2__
scan_find scan_find_sse2, scan_find_avx2;
#endif

/* Finds some of the matches in [at, end) by their numbers, of which the first one is 1: sets
 * found[i] to where the numbers[i]th is. The numbers ascend. Returns how many there are; the others
 * are beyond the end. Up to `limit`, at least `end`, there are bytes that can be read. */
typedef size_t scan_pick(const uint8_t *at, const uint8_t *end, const uint8_t *limit,
                         uint8_t wanted, const uint32_t *numbers, size_t count,
                         const uint8_t **found);

scan_pick *scan_picker(void);

scan_pick scan_pick_plain;
#ifdef __SSE2__
scan_pick scan_pick_sse2;
#endif
#ifdef __x86_64__
scan_pick scan_pick_pdep;
#endif

#endif
