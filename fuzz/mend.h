/* SPDX-License-Identifier: MIT
 * Correction of checksums, so that a fuzzer reaches the code after their check. */
#ifndef BLOOMFILE_FUZZ_MEND_H
#define BLOOMFILE_FUZZ_MEND_H

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/header.h"
#include "format/layout.h"

static inline void put_crc(uint8_t *bytes, size_t size)
{
    put32(bytes + size - 4, checksum(bytes, size - 4));
}

/* The size of the header, or 0 if there are fewer bytes. */
static inline size_t mend_header_size(const uint8_t *image, size_t size)
{
    if (size < 16)
        return 0;
    const size_t header = get32(image + AT_header_size) == 4096 ? 4096 : 512;
    return size < header ? 0 : header;
}

/* Corrects the checksums of the header and its records. */
static inline void mend_checksums(uint8_t *image, size_t size)
{
    const size_t header = mend_header_size(image, size), half = header / 2, quarter = header / 4;
    if (header == 0)
        return;
    put_crc(image, half);
    for (uint8_t *record = image + half; record < image + header; record += quarter) {
        memcpy(record + RECORD_AT_header_crc, image + half - 4, 4);
        put_crc(record, quarter);
    }
}

/* Counts the cells above 0, or the counters at 15. */
static inline uint64_t mend_count(const uint8_t *body, uint64_t size, unsigned bits, bool at_end)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < size; i++) {
        if (bits == 1)
            count += at_end ? 0 : (unsigned)__builtin_popcount(body[i]);
        else if (at_end)
            count += (body[i] >> 4 == 15) + ((body[i] & 15) == 15);
        else
            count += (body[i] >> 4 != 0) + ((body[i] & 15) != 0);
    }
    return count;
}

/* Corrects all checksums of the image at the start of the bytes, and the counts in its records.
 * Returns the size of the image by its geometry, or 0 without an image. */
static inline size_t mend_all(uint8_t *image, size_t size)
{
    const size_t header = mend_header_size(image, size);
    if (header == 0)
        return 0;
    const uint32_t layout = get32(image + AT_layout);
    const uint64_t m = get64(image + AT_m);
    if (!layout_known(layout) || !geometry_is_sound(layout, m, (uint32_t)header))
        return 0;
    const struct geometry g = geometry_of(layout, m, (uint32_t)header);
    if (g.image_size > size)
        return 0;
    put64(image + AT_body_offset, header);
    put64(image + AT_body_size, g.body_size);
    uint8_t *body = image + header, *table = body + g.body_size;
    const uint32_t whole = checksum(body, (size_t)g.body_size);
    for (uint64_t page = 0; page < g.pages; page++)
        put32(table + 4 * page,
              checksum(body + CHECKSUM_PAGE * page, checksum_page_size(g.body_size, page)) ^ whole);
    const unsigned bits = layout_of(layout)->cell_bits;
    for (uint8_t *record = image + header / 2; record < image + header; record += header / 4) {
        put32(record + RECORD_AT_body_crc, whole);
        put64(record + RECORD_AT_ones, mend_count(body, g.body_size, bits, false));
        put64(record + RECORD_AT_overflow, mend_count(body, g.body_size, bits, true));
    }
    mend_checksums(image, (size_t)g.image_size);
    return (size_t)g.image_size;
}

/* Corrects all layers of a series, and the links between them. Returns the size of all layers. */
static inline size_t mend_series(uint8_t *series, size_t size)
{
    uint64_t link = 0;
    size_t end = 0;
    while (end < size && mend_header_size(series + end, size - end) == 4096) {
        uint8_t *layer = series + end;
        put64(layer + AT_rest_size, size - end);
        put64(layer + AT_link, link);
        const size_t image = mend_all(layer, size - end);
        if (image == 0)
            break;
        link = get32(layer + 2048 - 4) | (uint64_t)get32(layer + 2048 + RECORD_AT_body_crc) << 32;
        end += image;
        if (end == size)
            break;
        end = (end + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE * CHECKSUM_PAGE;
    }
    return end < size ? end : size;
}

#endif
