/* SPDX-License-Identifier: MIT
 * Header checksums put right, which lets a fuzzer reach what lies behind them. */
#ifndef BLOOMFILE_FUZZ_MEND_H
#define BLOOMFILE_FUZZ_MEND_H

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/fields.h"

static inline void put_crc(uint8_t *bytes, size_t size)
{
    put32(bytes + size - 4, checksum(bytes, size - 4));
}

static inline void mend_checksums(uint8_t *image, size_t size)
{
    if (size < 16)
        return;
    size_t header = get32(image + AT_header_size) == 4096 ? 4096 : 512, half = header / 2,
           quarter = header / 4;
    if (size < header)
        return;
    put_crc(image, half);
    for (uint8_t *record = image + half; record < image + header; record += quarter) {
        memcpy(record + RECORD_AT_header_crc, image + half - 4, 4);
        put_crc(record, quarter);
    }
}

#endif
