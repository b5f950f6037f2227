/* SPDX-License-Identifier: MIT
 * The table of layouts, one row each (format-spec.md, section 10). */
#include "format/layout.h"

#include "format/checksum.h"
#include "format/probe.h"
#include <bloomfile_unstable.h>

#define SIZE sizeof(struct bloomfile_traits)

/* Columns: size of the struct, name, unit, cell, cells in a unit, bits of a cell, projection,
 * counts, solved. */
const struct bloomfile_traits layout_table[LAYOUT_END] = {
    [BLOOMFILE_LAYOUT_BLOCKED] = { SIZE, "blocked", "block", "bit", PROBE_BLOCK_BITS, 1, 0, false,
                                   false },
    [BLOOMFILE_LAYOUT_CLASSIC] = { SIZE, "classic", "bit", "bit", 1, 1, 0, false, false },
    [BLOOMFILE_LAYOUT_COUNTING] = { SIZE, "counting", "counter", "counter", 1, 4,
                                    BLOOMFILE_LAYOUT_CLASSIC, true, false },
    [BLOOMFILE_LAYOUT_RIBBON] = { SIZE, "ribbon", "line", "bit", PROBE_BLOCK_BITS, 1, 0, false,
                                  true },
};

const struct bloomfile_traits *bloomfile_traits_of(uint32_t layout)
{
    return layout_known(layout) ? layout_of(layout) : NULL;
}

const char *bloomfile_layout_name(uint32_t layout)
{
    return layout_known(layout) ? layout_of(layout)->name : NULL;
}

/* ---- sizes and offsets of an image */

struct geometry geometry_of(uint32_t layout, uint64_t m, uint32_t header_size)
{
    struct geometry g = { .units = geometry_units_of(layout, m),
                          .unit_bits = layout_unit_bits(layout) };
    g.need = geometry_bytes_of(layout, g.units);
    uint64_t grain = header_size == GEOMETRY_FILE_HEADER ? CHECKSUM_PAGE : PROBE_BLOCK_BYTES;
    g.body_size = (g.need + grain - 1) / grain * grain;
    g.pages = (g.body_size + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE;
    g.image_size = header_size + g.body_size + 4 * g.pages;
    return g;
}

bool geometry_is_sound(uint32_t layout, uint64_t m, uint32_t header_size)
{
    return geometry_header_known(header_size) && layout_known(layout) &&
           geometry_bits_valid(layout, m);
}
