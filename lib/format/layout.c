/* SPDX-License-Identifier: MIT
 * One row for each layout (format-spec.md, section 8). */
#include "format/layout.h"

#include "format/probe.h"

#define SIZE sizeof(struct bloomfile_traits)

/* Size, name, unit, cell, cells of a unit, bits of a cell, projection, counts, solved. */
const struct bloomfile_traits layout_table[LAYOUT_END] = {
    [BLOOMFILE_BLOCKED] = { SIZE, "blocked", "block", "bit", PROBE_BLOCK_BITS, 1, 0, false, false },
    [BLOOMFILE_CLASSIC] = { SIZE, "classic", "bit", "bit", 1, 1, 0, false, false },
    [BLOOMFILE_COUNTING] = { SIZE, "counting", "counter", "counter", 1, 4, BLOOMFILE_CLASSIC, true,
                             false },
    [BLOOMFILE_RIBBON] = { SIZE, "ribbon", "line", "bit", PROBE_BLOCK_BITS, 1, 0, false, true },
};

const struct bloomfile_traits *bloomfile_traits_of(uint32_t layout)
{
    return layout_known(layout) ? layout_of(layout) : NULL;
}
