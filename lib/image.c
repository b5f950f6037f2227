/* SPDX-License-Identifier: MIT */
#include "image.h"

#include <errno.h>
#include <stdlib.h>

#include "bytes.h"
#include "checksum.h"
#include "hash.h"
#include "kernel.h"

int image_new(struct header *h, uint8_t **image, size_t *size)
{
    struct geometry g = geometry_of(h->layout, h->m, h->header_size);
    if (g.image_size > SIZE_MAX / 2)
        return BLOOMFILE_ETOOBIG;
    *image = calloc(1, (size_t)g.image_size);
    if (*image == NULL)
        return ENOMEM;
    *size = (size_t)g.image_size;
    h->version = HEADER_VERSION;
    h->hash_id = HASH_XXH3_64;
    h->self_test = hash_self_test(h->seed);
    h->body_offset = h->header_size;
    h->body_size = g.body_size;
    return 0;
}

uint8_t *image_body(const struct header *h, uint8_t *image)
{
    return image + h->body_offset;
}

void image_seal(struct header *h, uint8_t *image)
{
    const struct geometry g = geometry_of(h->layout, h->m, h->header_size);
    uint8_t *body = image_body(h, image), *checksums = body + g.body_size;
    struct checksum_sum sum = { 0 };
    struct kernel_tally tally = { 0 };
    for (uint64_t page = 0; page < g.pages; page++) {
        uint64_t at = page * CHECKSUM_PAGE, stored = g.body_size - at, used = g.need - at;
        size_t size = stored < CHECKSUM_PAGE ? (size_t)stored : CHECKSUM_PAGE;
        uint32_t crc = checksum(body + at, size);
        put32(checksums + 4 * page, crc);
        checksum_append(&sum, crc, size);
        kernel_for(h->layout)->tally(body + at, used < size ? (size_t)used : size, &tally);
    }
    h->record.sequence = HEADER_SEALED_SEQUENCE;
    h->record.state = BLOOMFILE_SEALED;
    h->record.ones = tally.ones;
    h->record.overflow = tally.overflow;
    h->record.body_crc = sum.crc;
    header_encode_sealed(h, image);
}
