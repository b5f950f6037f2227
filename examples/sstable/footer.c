/* SPDX-License-Identifier: MIT
 *
 * The footer of a table. */
#include "table.h"

#include <string.h>

enum {
    IDENTITY = 8,
    OFFSET = 24,
    SIZE = 32,
    CHECKSUM = 40
};

static const uint8_t MAGIC[IDENTITY] = { 0x89, 'T', 'A', 'B', 'L', 'E', '\r', '\n' };

static uint64_t checksum(const uint8_t *bytes)
{
    return bloomfile_hash(0, bytes, CHECKSUM);
}

void footer_encode(const struct footer *footer, uint8_t bytes[FOOTER_SIZE])
{
    memcpy(bytes, MAGIC, sizeof MAGIC);
    memcpy(bytes + IDENTITY, footer->identity, sizeof footer->identity);
    mtbl_fixed_encode64(bytes + OFFSET, footer->image_offset);
    mtbl_fixed_encode64(bytes + SIZE, footer->image_size);
    mtbl_fixed_encode64(bytes + CHECKSUM, checksum(bytes));
}

bool footer_decode(struct footer *footer, const uint8_t bytes[FOOTER_SIZE])
{
    memcpy(footer->identity, bytes + IDENTITY, sizeof footer->identity);
    footer->image_offset = mtbl_fixed_decode64(bytes + OFFSET);
    footer->image_size = mtbl_fixed_decode64(bytes + SIZE);
    return memcmp(bytes, MAGIC, sizeof MAGIC) == 0 &&
           mtbl_fixed_decode64(bytes + CHECKSUM) == checksum(bytes);
}
