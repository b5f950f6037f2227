/* SPDX-License-Identifier: MIT
 * Functions that search for line ends and field delimiters, with vector instructions. */
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

/* Returns the fastest version for this processor. */
scan_find *scan_finder(void);

/* The versions. scan_find_none, for processors without vectors, never finds a match. */
scan_find scan_find_none;
#ifdef __SSE2__
scan_find scan_find_sse2, scan_find_avx2;
#endif

/* Finds selected matches in [at, end) by their numbers, counted from 1: sets found[i] to the
 * position of match numbers[i]. The numbers ascend. Returns how many were found; the rest are
 * beyond `end`. Bytes up to `limit` must be readable; `limit` is at least `end`. */
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
