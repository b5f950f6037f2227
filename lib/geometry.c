/* SPDX-License-Identifier: MIT */
#include "geometry.h"

#include <bloomfile.h>

#include "checksum.h"
#include "probe.h"

bool geometry_layout_known(uint32_t layout)
{
    return layout == BLOOMFILE_BLOCKED || layout == BLOOMFILE_CLASSIC ||
           layout == BLOOMFILE_COUNTING;
}

bool geometry_bits_valid(uint32_t layout, uint64_t m)
{
    return m >= 1 && m <= BLOOMFILE_MAX_BITS &&
           (layout != BLOOMFILE_BLOCKED || m % PROBE_BLOCK_BITS == 0);
}

uint64_t geometry_units_of(uint32_t layout, uint64_t m)
{
    return layout == BLOOMFILE_BLOCKED ? m / PROBE_BLOCK_BITS : m;
}

uint64_t geometry_units_in(uint32_t layout, uint64_t bytes)
{
    switch (layout) {
    case BLOOMFILE_BLOCKED:
        return bytes / PROBE_BLOCK_BYTES;
    case BLOOMFILE_COUNTING:
        return 2 * bytes;
    default:
        return 8 * bytes;
    }
}

uint64_t geometry_bytes_of(uint32_t layout, uint64_t units)
{
    switch (layout) {
    case BLOOMFILE_BLOCKED:
        return PROBE_BLOCK_BYTES * units;
    case BLOOMFILE_COUNTING:
        return units / 2 + units % 2;
    default:
        return units / 8 + (units % 8 != 0);
    }
}

struct geometry geometry_of(uint32_t layout, uint64_t m, uint32_t header_size)
{
    struct geometry g = { .units = geometry_units_of(layout, m) };
    g.need = geometry_bytes_of(layout, g.units);
    uint64_t grain = header_size == GEOMETRY_FILE_HEADER ? CHECKSUM_PAGE : PROBE_BLOCK_BYTES;
    g.body_size = (g.need + grain - 1) / grain * grain;
    g.pages = (g.body_size + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE;
    g.image_size = header_size + g.body_size + 4 * g.pages;
    return g;
}

bool geometry_is_sound(uint32_t layout, uint64_t m, uint32_t header_size)
{
    return (header_size == GEOMETRY_FILE_HEADER || header_size == GEOMETRY_EMBEDDED_HEADER) &&
           geometry_layout_known(layout) && geometry_bits_valid(layout, m);
}
