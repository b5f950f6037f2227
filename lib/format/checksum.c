/* SPDX-License-Identifier: MIT
 * CRC-32 by libdeflate; zlib combines those of the pages. */
#include "format/checksum.h"

#include <libdeflate.h>
#include <zlib.h>

uint32_t checksum(const uint8_t *bytes, size_t size)
{
    return libdeflate_crc32(0, bytes, size);
}

uint32_t checksum_more(uint32_t crc, const uint8_t *bytes, size_t size)
{
    return libdeflate_crc32(crc, bytes, size);
}

void checksum_append(struct checksum_sum *sum, uint32_t page_crc, size_t page_size)
{
    if (page_size != CHECKSUM_PAGE) {
        sum->crc = (uint32_t)crc32_combine(sum->crc, page_crc, (z_off_t)page_size);
        return;
    }
    if (sum->shift == 0)
        sum->shift = (uint32_t)crc32_combine_gen(CHECKSUM_PAGE);
    sum->crc = (uint32_t)crc32_combine_op(sum->crc, page_crc, sum->shift);
}
