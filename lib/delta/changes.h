/* SPDX-License-Identifier: MIT
 * The changes between two bodies: finding and making them, a stretch at a time. */
#ifndef BLOOMFILE_DELTA_CHANGES_H
#define BLOOMFILE_DELTA_CHANGES_H

#include "delta/bits.h"
#include "delta/part.h"

/* Changes of one kind, in order. The arrays are the caller's, with room for all. */
struct changes_found {
    uint64_t *gaps;   /* of each unit: how many were skipped before it. A unit is a block with
                         changes, or otherwise a cell */
    uint16_t *counts; /* of blocks: its changed cells, of so many eligible */
    uint16_t *eligible;
    uint16_t *skips; /* of blocks, for each changed cell: the eligible ones skipped */
    uint8_t *moves;  /* of moved counters: how, coded */
    size_t units, cells;
    uint64_t skipped; /* units since the last one */
};

/* Changes of one kind that are still to be made. */
struct changes_stream {
    struct bits_reader bits;
    uint64_t units; /* to come */
    uint64_t skip;  /* units before the next one */
    unsigned gap_bits, count_bits;
    uint64_t typical; /* number of changed cells in a block */
};

/* The same for two instruction sets. `size` is a multiple of 64. */
struct changes {
    /* How many cells differ. */
    unsigned (*compare)(enum cells_kind kind, const uint8_t *old, const uint8_t *new, size_t size);
    /* Adds the changes in the next stretch, found[CELLS_RAISED] and so on. */
    void (*find)(enum cells_kind kind, const uint8_t *old, const uint8_t *new, size_t size,
                 struct changes_found *found);
    /* Makes those that fall into the next stretch, of which `to` is a copy of `old` at first. What
     * is wrong with them is remembered in the stream. */
    void (*make)(enum cells_kind kind, enum cells_change change, const uint8_t *old, uint8_t *to,
                 size_t size, struct changes_stream *stream);
};

extern const struct changes changes_plain;
#ifdef __x86_64__
extern const struct changes changes_bmi2;
#endif

const struct changes *changes_best(void);

#endif
