/* SPDX-License-Identifier: MIT
 * The layouts, a row each. What one does with bits is in kernel/dispatch.c, its rates are in
 * sizing/sizing.c; all other code looks at traits and never asks which layout it is. */
#ifndef BLOOMFILE_LAYOUT_H
#define BLOOMFILE_LAYOUT_H

#include <bloomfile_inspect.h>

enum {
    LAYOUT_DEFAULT = BLOOMFILE_BLOCKED,
    LAYOUT_END = BLOOMFILE_RIBBON + 1, /* above all layouts */
    LAYOUT_UNIT_MOST = 64,             /* bytes of the largest unit */
};

extern const struct bloomfile_traits layout_table[LAYOUT_END];

static inline bool layout_known(uint32_t layout)
{
    return layout >= 1 && layout < LAYOUT_END;
}

/* The functions below take a known layout. */

static inline const struct bloomfile_traits *layout_of(uint32_t layout)
{
    return &layout_table[layout];
}

/* Whether the layers of a series may have it. */
static inline bool layout_of_layers(uint32_t layout)
{
    return !layout_of(layout)->counts && !layout_of(layout)->solved;
}

/* Whether all positions of a key lie in one unit, so that units belong to ranges of digests. */
static inline bool layout_is_local(uint32_t layout)
{
    return layout_of(layout)->unit_cells > 1;
}

/* Whether filters of it have slices: local ones, whose units answer by themselves. */
static inline bool layout_has_slices(uint32_t layout)
{
    return layout_is_local(layout) && !layout_of(layout)->solved;
}

/* Bits of the body that a unit takes, a power of 2. */
static inline unsigned layout_unit_bits(uint32_t layout)
{
    return layout_of(layout)->unit_cells * layout_of(layout)->cell_bits;
}

#endif
