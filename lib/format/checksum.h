/* SPDX-License-Identifier: MIT
 * CRC-32 of ranges, and of a body page by page (format-spec.md, section 12). */
#ifndef BLOOMFILE_CHECKSUM_H
#define BLOOMFILE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "format/bytes.h"

#define CHECKSUM_PAGE 4096u

uint32_t checksum(const uint8_t *bytes, size_t size);

/* Returns the CRC-32 of the bytes that `crc` covers, followed by these bytes. */
uint32_t checksum_more(uint32_t crc, const uint8_t *bytes, size_t size);

/* Copies a page, or a shorter last page, whose copy will be checked. */
void checksum_copy(uint8_t *to, const uint8_t *from, size_t size);

static inline uint64_t checksum_pages(uint64_t body_size)
{
    return (body_size + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE;
}

static inline size_t checksum_page_size(uint64_t body_size, uint64_t page)
{
    uint64_t rest = body_size - page * CHECKSUM_PAGE;
    return rest < CHECKSUM_PAGE ? (size_t)rest : CHECKSUM_PAGE;
}

/* The table after the body has an entry for each page: the page's CRC-32 XOR the CRC-32 of the
 * whole body. So a stale page fails the check even if its entry is equally stale. */
static inline uint32_t checksum_of_entry(const uint8_t *table, uint64_t page, uint32_t body_crc)
{
    return get32(table + 4 * page) ^ body_crc;
}

/* The CRC-32 of a whole body, combined in order from the CRC-32 of its pages or of larger parts. */
struct checksum_sum {
    uint32_t crc; /* the result so far; 0 at the start */
};
void checksum_append(struct checksum_sum *sum, uint32_t crc, uint64_t size);

#endif
