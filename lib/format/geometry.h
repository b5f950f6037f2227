/* SPDX-License-Identifier: MIT
 * From (layout, m, header size) to places in the image (format-spec.md, sections 3 and 9). What a
 * view needs is inlined, since engines open one for every lookup. */
#ifndef BLOOMFILE_GEOMETRY_H
#define BLOOMFILE_GEOMETRY_H

#include <bloomfile.h>

#include "format/probe.h"

#define GEOMETRY_FILE_HEADER     4096u
#define GEOMETRY_EMBEDDED_HEADER 512u
#define GEOMETRY_MAX_CAPACITY    (1ULL << 60)

/* Every size fits in 63 bits. */
struct geometry {
    uint64_t units;      /* blocks, bits or counters: the range of the first reduction */
    uint64_t need;       /* bytes of body that m uses */
    uint64_t body_size;  /* bytes of body stored: need, then zeros up to the form's granularity */
    uint64_t pages;      /* pages of 4096 bytes in the body */
    uint64_t image_size; /* header, body, page checksums */
};

static inline bool geometry_header_known(uint32_t header_size)
{
    return header_size == GEOMETRY_FILE_HEADER || header_size == GEOMETRY_EMBEDDED_HEADER;
}

static inline bool geometry_layout_known(uint32_t layout)
{
    return layout == BLOOMFILE_BLOCKED || layout == BLOOMFILE_CLASSIC ||
           layout == BLOOMFILE_COUNTING;
}

/* m within the limits, and a multiple of 512 if blocked. The layout is known. */
static inline bool geometry_bits_valid(uint32_t layout, uint64_t m)
{
    return m >= 1 && m <= BLOOMFILE_MAX_BITS &&
           (layout != BLOOMFILE_BLOCKED || m % PROBE_BLOCK_BITS == 0);
}

/* The range of the first reduction, for valid m. */
static inline uint64_t geometry_units_of(uint32_t layout, uint64_t m)
{
    return layout == BLOOMFILE_BLOCKED ? m / PROBE_BLOCK_BITS : m;
}

/* How many units fit in that many whole bytes. */
static inline uint64_t geometry_units_in(uint32_t layout, uint64_t bytes)
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

/* How many bytes that many units take. */
static inline uint64_t geometry_bytes_of(uint32_t layout, uint64_t units)
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

/* Whether geometry_of() may be asked. */
bool geometry_is_sound(uint32_t layout, uint64_t m, uint32_t header_size);

/* For a known layout, valid m, and a header size of 4096 or 512. */
struct geometry geometry_of(uint32_t layout, uint64_t m, uint32_t header_size);

#endif
