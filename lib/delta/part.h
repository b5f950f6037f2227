/* SPDX-License-Identifier: MIT
 * The cells of a body, and the head of a part of a patch, which precedes its bit strings
 * (doc/format/patches.md 3). */
#ifndef BLOOMFILE_DELTA_PART_H
#define BLOOMFILE_DELTA_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "format/layout.h"
#include "format/patch.h"

/* ---- cells, a word at a time
 *
 * A cell is a bit, or a counter of 4 bits. A change raises a cell by 1, lowers it by 1, or moves it
 * by more. Its position is its index among the eligible cells: those for which this change is
 * possible. The same rules apply to bits and counters. */

enum cells_change {
    CELLS_RAISED, /* before CELLS_LOWERED: see cells_flip() */
    CELLS_LOWERED,
    CELLS_MOVED, /* counters only */
    CELLS_CHANGES,
};

#define CELLS_INLINE    static inline __attribute__((always_inline))
#define CELLS_LOWEST    0x1111111111111111u /* the lowest bit of each counter */
#define CELLS_WORD      8u                  /* bytes */
#define CELLS_UNIT      512u                /* bits of a block, which has all positions of a key */
#define CELLS_UNIT_SIZE (CELLS_UNIT / 8)

/* The coding of changes, for a layout. */
enum cells_kind {
    CELLS_OF_BLOCKS, /* bits: the blocks with changes, then the changed bits of each */
    CELLS_OF_BITS,
    CELLS_OF_COUNTERS,
};

CELLS_INLINE uint64_t cells_not_zero(uint64_t counters)
{
    return (counters | counters >> 1 | counters >> 2 | counters >> 3) & CELLS_LOWEST;
}

/* A mask that, XORed with a word of bits, leaves the eligible cells set: ~0 for CELLS_RAISED, 0 for
 * CELLS_LOWERED. */
CELLS_INLINE uint64_t cells_flip(enum cells_change change)
{
    return (uint64_t)change - CELLS_LOWERED;
}

/* The position of the n-th set bit, counted from 0. The word must have more than n set bits. */
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

/* ---- the head of a part */

#define PART_STRINGS_MOST ((size_t)1 << 20) /* bytes of all strings of a part */
#define PART_CRC          4u

struct part_stream {
    uint64_t units; /* if 0, the other members are not in the patch */
    uint64_t size;  /* bytes of the string */
    uint64_t typical;
    uint8_t gap_bits, count_bits;
};

struct part {
    uint64_t skip, span; /* unchanged pages before the part; pages of the part */
    struct part_stream streams[CELLS_CHANGES];
};

#define PART_HEAD_MOST ((2 + 3 * CELLS_CHANGES) * PATCH_NUMBER_MOST + 2 * CELLS_CHANGES)

static inline enum cells_kind part_kind(uint32_t layout)
{
    if (layout_is_local(layout))
        return CELLS_OF_BLOCKS;
    return layout_of(layout)->cell_bits == 1 ? CELLS_OF_BITS : CELLS_OF_COUNTERS;
}

/* The bytes of all strings of a part. */
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
