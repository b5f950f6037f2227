/* SPDX-License-Identifier: MIT
 * The head of a part of a patch, before its strings of bits (format-spec.md, E.3). */
#ifndef BLOOMFILE_PART_H
#define BLOOMFILE_PART_H

#include "delta/cells.h"
#include "format/layout.h"
#include "format/patch.h"

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
