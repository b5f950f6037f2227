/* SPDX-License-Identifier: MIT
 * The trailer of the compact form: version, layout, hash, k, and a CRC-32 bound to the seed. */
#include "format/compact.h"

#include <bloomfile_view.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/hash.h"
#include "format/layout.h"

#define VERSION 1

enum { /* offsets in the trailer */
    AT_VERSION = 0,
    AT_LAYOUT = 1, /* low half: the layout; high half: units of the body beyond m */
    AT_HASH = 2,
    AT_K = 3,
    AT_CHECK = 4,
};

/* CRC-32 of all before it and of the digest of a known key, which tells seeds apart. */
static uint32_t check_of(const uint8_t *bytes, size_t size, uint64_t seed)
{
    static const uint8_t test_string[16] = { 0x80, 0x1D, 0xBA, 0x57, 0xF4, 0x91, 0x2E, 0xCB,
                                             0x68, 0x05, 0xA2, 0x3F, 0xDC, 0x79, 0x16, 0xB3 };
    return checksum(bytes, size) ^ (uint32_t)hash_key(seed, test_string, sizeof test_string);
}

void compact_encode(uint8_t *bytes, uint64_t seed, const struct bloomfile_view *view)
{
    uint8_t *trailer = bytes + view->size;
    const uint64_t unused =
        geometry_units_in(view->layout, view->size) - geometry_units_of(view->layout, view->bits);
    trailer[AT_VERSION] = VERSION;
    trailer[AT_LAYOUT] = (uint8_t)(view->layout | unused << 4);
    trailer[AT_HASH] = HASH_XXH3_64;
    trailer[AT_K] = (uint8_t)view->hashes;
    put32(trailer + AT_CHECK, check_of(bytes, view->size + AT_CHECK, seed));
}

bool compact_is_whole(const uint8_t *bytes, size_t size, uint64_t seed)
{
    if (size <= BLOOMFILE_TRAILER_SIZE)
        return false;
    const size_t checked = size - BLOOMFILE_TRAILER_SIZE + AT_CHECK;
    return get32(bytes + checked) == check_of(bytes, checked, seed);
}

int compact_decode(const uint8_t *bytes, size_t size, struct bloomfile_view *view)
{
    if (size <= BLOOMFILE_TRAILER_SIZE)
        return BLOOMFILE_ECOMPACT;
    const size_t body_size = size - BLOOMFILE_TRAILER_SIZE;
    const uint8_t *trailer = bytes + body_size;
    if (trailer[AT_VERSION] != VERSION)
        return BLOOMFILE_EVERSION;
    view->layout = trailer[AT_LAYOUT] & 15;
    if (!layout_known(view->layout) || layout_of(view->layout)->solved)
        return BLOOMFILE_ELAYOUT;
    if (trailer[AT_HASH] != HASH_XXH3_64)
        return BLOOMFILE_EHASH;
    view->hashes = trailer[AT_K];
    view->bits = geometry_cells_in(view->layout, body_size) - (trailer[AT_LAYOUT] >> 4);
    view->size = body_size;
    return 0;
}
