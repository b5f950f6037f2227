/* SPDX-License-Identifier: MIT
 *
 * The search for flipped bits. A CRC-32 over a few thousand bytes does more than notice a flipped
 * bit: each bit, when it flips, changes the checksum by a pattern that no other bit has. So the
 * difference between the checksum stored and the checksum computed names the bit.
 */
#include "bfinspect/inspect.h"

#include <bloomfile_inspect.h>
#include <string.h>

#define CRC_POLYNOMIAL 0xEDB88320u

/* The effect of one more byte, of zeros, behind what gave this remainder. */
static uint32_t crc_step(uint32_t crc)
{
    for (int i = 0; i < 8; i++)
        crc = crc >> 1 ^ (CRC_POLYNOMIAL & (0 - (crc & 1)));
    return crc;
}

static uint32_t crc_of(const uint8_t *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++)
        crc = crc_step(crc ^ bytes[i]);
    return ~crc;
}

/* `difference` is not 0. The checksum's own four bytes follow the `size` ones it is of. */
static bool locate(uint32_t difference, size_t size, struct inspect_flip *flip)
{
    if ((difference & (difference - 1)) == 0) {
        unsigned bit = (unsigned)__builtin_ctz(difference);
        *flip = (struct inspect_flip){ size + bit / 8, bit % 8 };
        return true;
    }
    uint32_t effect[8];
    for (unsigned bit = 0; bit < 8; bit++)
        effect[bit] = crc_step(1u << bit);
    for (size_t at = size; at-- > 0;) {
        for (unsigned bit = 0; bit < 8; bit++) {
            if (effect[bit] == difference) {
                *flip = (struct inspect_flip){ at, bit };
                return true;
            }
            effect[bit] = crc_step(effect[bit]);
        }
    }
    return false;
}

/* Turns back the flipped bit, if that is what is wrong, in a range whose last four bytes are its
 * checksum. */
static void repair(uint8_t *bytes, size_t start, size_t size, struct inspect_report *r)
{
    struct inspect_flip flip;
    uint8_t *range = bytes + start;
    uint32_t stored = (uint32_t)inspect_number(range + size - 4, 4);
    uint32_t difference = crc_of(range, size - 4) ^ stored;
    if (difference == 0 || r->flip_count == INSPECT_FLIPS || !locate(difference, size - 4, &flip))
        return;
    range[flip.offset] ^= (uint8_t)(1u << flip.bit);
    flip.offset += start;
    r->flips[r->flip_count++] = flip;
}

static bool repair_all(struct inspect_report *r, size_t header_size)
{
    uint8_t bytes[INSPECT_HEADER_SIZE];
    if (r->have < header_size)
        return false;
    memcpy(bytes, r->bytes, r->have);
    r->flip_count = 0;
    repair(bytes, 0, header_size / 2, r);
    repair(bytes, header_size / 2, header_size / 4, r);
    repair(bytes, header_size / 4 * 3, header_size / 4, r);
    if (r->flip_count > 0 && bloomfile_inspect(bytes, r->size, NULL, NULL, NULL) == 0)
        return true;
    r->flip_count = 0;
    return false;
}

void inspect_find_flips(struct inspect_report *r)
{
    if (!repair_all(r, 4096))
        repair_all(r, 512);
}
