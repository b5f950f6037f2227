/* SPDX-License-Identifier: MIT
 * The layouts, a row each. Their functions on bits are in kernel/dispatch.c, their rates in
 * sizing/sizing.c; all other code looks at traits and never at the layout's number. */
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

/* ---- From (layout, m, header size) to places in the image (format-spec.md, sections 5 and 11).
 * What a view needs is inlined, since engines open one for every lookup. */

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

/* m within the limits, and whole units. For a known layout, as all below. */
static inline bool geometry_bits_valid(uint32_t layout, uint64_t m)
{
    return m >= 1 && m <= BLOOMFILE_MAX_BITS && (m & (layout_of(layout)->unit_cells - 1)) == 0;
}

/* The range of the first reduction, for valid m. */
static inline uint64_t geometry_units_of(uint32_t layout, uint64_t m)
{
    return m >> __builtin_ctz(layout_of(layout)->unit_cells);
}

/* How many cells fit in that many whole bytes. */
static inline uint64_t geometry_cells_in(uint32_t layout, uint64_t bytes)
{
    return 8 * bytes >> __builtin_ctz(layout_of(layout)->cell_bits);
}

/* How many units fit in that many whole bytes. */
static inline uint64_t geometry_units_in(uint32_t layout, uint64_t bytes)
{
    return 8 * bytes >> __builtin_ctz(layout_unit_bits(layout));
}

/* How many bytes that many units take. */
static inline uint64_t geometry_bytes_of(uint32_t layout, uint64_t units)
{
    return (units * layout_unit_bits(layout) + 7) / 8;
}

/* Whether geometry_of() may be asked. */
bool geometry_is_sound(uint32_t layout, uint64_t m, uint32_t header_size);

/* For a known layout, valid m, and a header size of 4096 or 512. */
struct geometry geometry_of(uint32_t layout, uint64_t m, uint32_t header_size);

#endif
