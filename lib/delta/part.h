/* SPDX-License-Identifier: MIT
 * The head of a part of a patch, before its strings of bits (doc/format/patches.md 3); cells of a
 * body. */
#ifndef BLOOMFILE_DELTA_PART_H
#define BLOOMFILE_DELTA_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "format/layout.h"
#include "format/patch.h"

/* ---- Cells of a body, a word at a time: a bit, or a counter of 4. A change raises a cell by
 * one, lowers it by one or moves it further, and is counted among those cells that can change
 * so. Bits and counters follow the same rules. */

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

/* ---- The head of a part. */

#define PART_STRINGS_MOST ((size_t)1 << 20) /* bytes of a part's strings together */
#define PART_CRC          4u

struct part_stream {
    uint64_t units; /* 0: the rest is not there */
    uint64_t size;  /* bytes of its string */
    uint64_t typical;
    uint8_t gap_bits, count_bits;
};

struct part {
    uint64_t skip, span; /* pages that are as before; pages of the part */
    struct part_stream streams[CELLS_CHANGES];
};

#define PART_HEAD_MOST ((2 + 3 * CELLS_CHANGES) * PATCH_NUMBER_MOST + 2 * CELLS_CHANGES)

static inline enum cells_kind part_kind(uint32_t layout)
{
    if (layout_is_local(layout))
        return CELLS_OF_BLOCKS;
    return layout_of(layout)->cell_bits == 1 ? CELLS_OF_BITS : CELLS_OF_COUNTERS;
}

/* Bytes of the strings together. */
static inline size_t part_size(const struct part *p)
{
    uint64_t size = 0;
    for (unsigned i = 0; i < CELLS_CHANGES; i++)
        size += p->streams[i].size;
    return (size_t)size;
}

static inline unsigned part_streams(enum cells_kind kind)
{
    return kind == CELLS_OF_COUNTERS ? CELLS_CHANGES : CELLS_MOVED;
}

#endif
