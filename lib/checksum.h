/* SPDX-License-Identifier: MIT
 * CRC-32 of ranges, and of a body page by page (format-spec.md, section 10). */
#ifndef BLOOMFILE_CHECKSUM_H
#define BLOOMFILE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_PAGE 4096u

uint32_t checksum(const uint8_t *bytes, size_t size);

/* The CRC-32 of a whole body, put together from those of its pages in order. */
struct checksum_sum {
    uint32_t crc;   /* the result so far; 0 at the start */
    uint32_t shift; /* crc32_combine's operator for a whole page, 0 until it is first needed */
};
void checksum_append(struct checksum_sum *sum, uint32_t page_crc, size_t page_size);

#endif
