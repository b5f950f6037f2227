/* SPDX-License-Identifier: MIT
 * The layouts, and a row of traits for each. kernel/dispatch.c lists their kernels, sizing/sizing.c
 * their rates. All other code tests traits, never the number of a layout. */
#ifndef BLOOMFILE_FORMAT_LAYOUT_H
#define BLOOMFILE_FORMAT_LAYOUT_H

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>

enum {
    LAYOUT_DEFAULT = BLOOMFILE_LAYOUT_BLOCKED,
    LAYOUT_END = BLOOMFILE_LAYOUT_RIBBON + 1, /* above all layouts */
    LAYOUT_UNIT_MOST = 64,                    /* bytes of the largest unit */
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

/* Returns whether the layers of a series may have this layout. */
static inline bool layout_of_layers(uint32_t layout)
{
    return !layout_of(layout)->counts && !layout_of(layout)->solved;
}

/* Returns whether all positions of a key lie in one unit, so that units belong to ranges of
 * digests. */
static inline bool layout_is_local(uint32_t layout)
{
    return layout_of(layout)->unit_cells > 1;
}

/* Returns whether filters of this layout have slices: one unit must be enough to look up a key. */
static inline bool layout_has_slices(uint32_t layout)
{
    return layout_is_local(layout) && !layout_of(layout)->solved;
}

/* Bits of the body that a unit takes, a power of 2. */
static inline unsigned layout_unit_bits(uint32_t layout)
{
    return layout_of(layout)->unit_cells * layout_of(layout)->cell_bits;
}

/* ---- sizes and offsets in the image, from layout, m and header size (format-spec.md, sections 5
 * and 11). Functions for views are inlined, because storage engines open a view for every lookup.
 */

#define GEOMETRY_FILE_HEADER     4096u
#define GEOMETRY_EMBEDDED_HEADER 512u
#define GEOMETRY_MAX_CAPACITY    (1ULL << 60)

/* Every size fits in 63 bits. */
struct geometry {
    uint64_t units;      /* blocks, bits or counters: the range of the first reduction */
    uint64_t unit_bits;  /* bits of body that a unit takes, a power of 2 */
    uint64_t need;       /* bytes of body that m uses */
    uint64_t body_size;  /* bytes of body stored: need, then zeros up to the form's granularity */
    uint64_t pages;      /* pages of 4096 bytes in the body */
    uint64_t image_size; /* header, body, page checksums */
};

static inline bool geometry_header_known(uint32_t header_size)
{
    return header_size == GEOMETRY_FILE_HEADER || header_size == GEOMETRY_EMBEDDED_HEADER;
}

/* Returns whether m is within the limits and a multiple of the unit. The layout must be known, here
 * and in all functions below. */
static inline bool geometry_bits_valid(uint32_t layout, uint64_t m)
{
    return m >= 1 && m <= BLOOMFILE_MAX_BITS && (m & (layout_of(layout)->unit_cells - 1)) == 0;
}

/* The number of units, which is the range of the first reduction. m must be valid. */
static inline uint64_t geometry_units_of(uint32_t layout, uint64_t m)
{
    return m >> __builtin_ctz(layout_of(layout)->unit_cells);
}

/* The number of cells that fit in that many bytes. */
static inline uint64_t geometry_cells_in(uint32_t layout, uint64_t bytes)
{
    return 8 * bytes >> __builtin_ctz(layout_of(layout)->cell_bits);
}

/* The number of units that fit in that many bytes. */
static inline uint64_t geometry_units_in(uint32_t layout, uint64_t bytes)
{
    return 8 * bytes >> __builtin_ctz(layout_unit_bits(layout));
}

/* The number of bytes of that many units, rounded up. */
static inline uint64_t geometry_bytes_of(uint32_t layout, uint64_t units)
{
    return (units * layout_unit_bits(layout) + 7) / 8;
}

/* Returns whether the arguments are valid for geometry_of(). */
bool geometry_is_sound(uint32_t layout, uint64_t m, uint32_t header_size);

/* Computes the geometry for a known layout, a valid m, and a header size of 4096 or 512. */
struct geometry geometry_of(uint32_t layout, uint64_t m, uint32_t header_size);

#endif
