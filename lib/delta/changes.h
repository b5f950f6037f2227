/* SPDX-License-Identifier: MIT
 * Finding and making the changes between two bodies, one stretch at a time. */
#ifndef BLOOMFILE_DELTA_CHANGES_H
#define BLOOMFILE_DELTA_CHANGES_H

#include "delta/bits.h"
#include "delta/part.h"

/* Changes of one kind, in order. A unit is a block with changes (blocked) or a changed cell. The
 * caller owns the arrays, which must have room for all changes. */
struct changes_found {
    uint64_t *gaps;     /* for each unit: the units skipped before it */
    uint16_t *counts;   /* for each block: the number of changed cells, ... */
    uint16_t *eligible; /* ...and of the cells for which the change was possible */
    uint16_t *skips;    /* for each changed cell of a block: the eligible cells skipped before it */
    uint8_t *moves;     /* for each moved counter: the code of its move */
    size_t units, cells;
    uint64_t skipped; /* units since the last unit with a change */
};

/* The reader of the changes of one kind. */
struct changes_stream {
    struct bits_reader bits;
    uint64_t units; /* remaining units */
    uint64_t skip;  /* units before the next change */
    unsigned gap_bits, count_bits;
    uint64_t typical; /* typical number of changed cells in a block */
};

/* The functions for one instruction set. `size` must be a multiple of 64. */
struct changes {
    /* Counts the cells that differ. */
    unsigned (*compare)(enum cells_kind kind, const uint8_t *old, const uint8_t *new, size_t size);
    /* Appends the changes in the next stretch to found[CELLS_RAISED] and so on. */
    void (*find)(enum cells_kind kind, const uint8_t *old, const uint8_t *new, size_t size,
                 struct changes_found *found);
    /* Makes the changes in the next stretch. `to` must be a copy of `old`. An invalid code sets
     * `wrong` of the stream's bits. */
    void (*make)(enum cells_kind kind, enum cells_change change, const uint8_t *old, uint8_t *to,
                 size_t size, struct changes_stream *stream);
};

extern const struct changes changes_plain;
#ifdef __x86_64__
extern const struct changes changes_bmi2;
#endif

const struct changes *changes_best(void);

#endif
