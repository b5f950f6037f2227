/* SPDX-License-Identifier: MIT
 *
 * Cells of a body, a word at a time: a bit, or a counter of 4. A change raises a cell by one,
 * lowers it by one or moves it further, and is counted among those cells that can change so. Bits
 * and counters follow the same rules.
 */
#ifndef BLOOMFILE_CELLS_H
#define BLOOMFILE_CELLS_H

#include <stdbool.h>
#include <stdint.h>

enum cells_change {
    CELLS_RAISED, /* before CELLS_LOWERED: see cells_flip() */
    CELLS_LOWERED,
    CELLS_MOVED, /* counters only */
    CELLS_CHANGES,
};

#define CELLS_INLINE    static inline __attribute__((always_inline))
#define CELLS_LOWEST    0x1111111111111111u /* of each counter */
#define CELLS_WORD      8u                  /* bytes */
#define CELLS_UNIT      512u /* bits of a block, which all positions of a key share */
#define CELLS_UNIT_SIZE (CELLS_UNIT / 8)

/* How a layout's changes are coded. */
enum cells_kind {
    CELLS_OF_BLOCKS, /* bits: which blocks have changes, then which bits of these */
    CELLS_OF_BITS,
    CELLS_OF_COUNTERS,
};

CELLS_INLINE uint64_t cells_not_zero(uint64_t counters)
{
    return (counters | counters >> 1 | counters >> 2 | counters >> 3) & CELLS_LOWEST;
}

/* What turns a word into one whose cells above 0 are those that can be raised, or lowered. */
CELLS_INLINE uint64_t cells_flip(enum cells_change change)
{
    return (uint64_t)change - CELLS_LOWERED;
}

/* Where the n-th one bit is, from 0, of a word that has so many. */
CELLS_INLINE unsigned cells_select(uint64_t word, unsigned n)
{
    unsigned before = 0, ones;
    while ((ones = (unsigned)__builtin_popcountll(word & 0xFF)) <= n) {
        n -= ones;
        word >>= 8;
        before += 8;
    }
    for (; n > 0; n--)
        word &= word - 1;
    return before + (unsigned)__builtin_ctzll(word);
}

#endif
