/* SPDX-License-Identifier: MIT
 * CRC-32 by libdeflate; zlib combines the checksums of pages. */
#include "format/checksum.h"

#include <libdeflate.h>
#include <string.h>
#include <zlib.h>

#define LONGEST (1 << 30) /* for zlib, whose sizes are signed and may have 32 bits */

uint32_t checksum(const uint8_t *bytes, size_t size)
{
    return libdeflate_crc32(0, bytes, size);
}

uint32_t checksum_more(uint32_t crc, const uint8_t *bytes, size_t size)
{
    return libdeflate_crc32(crc, bytes, size);
}

/* Not inlined: where gcc knows that the size is at most a page, it makes memcpy() a `rep movsq`,
 * which takes twice as long. */
void checksum_copy(uint8_t *to, const uint8_t *from, size_t size)
{
    memcpy(to, from, size);
}

void checksum_append(struct checksum_sum *sum, uint32_t crc, uint64_t size)
{
    if (size != CHECKSUM_PAGE) {
        for (; size > LONGEST; size -= LONGEST)
            sum->crc = (uint32_t)crc32_combine(sum->crc, 0, LONGEST);
        sum->crc = (uint32_t)crc32_combine(sum->crc, crc, (z_off_t)size);
        return;
    }
    if (sum->shift == 0)
        sum->shift = (uint32_t)crc32_combine_gen(CHECKSUM_PAGE);
    sum->crc = (uint32_t)crc32_combine_op(sum->crc, crc, sum->shift);
}
