/* SPDX-License-Identifier: MIT
 * A sealed image in memory: the computed part of its header, and the checksums behind its body. */
#include "image/image.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/decode.h"
#include "image/body.h"
#include "sizing/sizing.h"

#define DEVIATIONS 6 /* of Poisson's distribution; beyond that it is no chance */

void image_describe(struct header *h)
{
    h->version = HEADER_VERSION;
    h->compat = h->framing != BLOOMFILE_FRAMING_UNKNOWN ? HEADER_COMPAT_FRAMING : 0;
    h->ro_compat = 0;
    h->incompat = h->series != 0 || h->layers != 0 ? HEADER_INCOMPAT_LAYER : 0;
    if (h->whole_blocks != 0)
        h->incompat |= HEADER_INCOMPAT_SLICE;
    h->body_offset = h->header_size;
    h->body_size = geometry_of(h->layout, h->m, h->header_size).body_size;
}

void image_record(struct record *record, uint32_t body_crc, const struct kernel_tally *tally)
{
    record->sequence = HEADER_SEALED_SEQUENCE;
    record->state = BLOOMFILE_SEALED;
    record->ones = tally->ones;
    record->overflow = tally->overflow;
    record->body_crc = body_crc;
    record->writers = 0;
    memset(record->boot_id, 0, sizeof record->boot_id);
}

void image_bind_checksums(uint8_t *table, uint64_t pages, uint32_t body_crc)
{
    for (uint64_t page = 0; page < pages; page++)
        put32(table + 4 * page, get32(table + 4 * page) ^ body_crc);
}

void image_sum(struct header *h, uint8_t *body)
{
    uint8_t *table = body + h->body_size;
    const uint64_t pages = checksum_pages(h->body_size);
    uint8_t copy[CHECKSUM_PAGE]; /* so that checksums and counts are of the same bytes */
    struct body_pass pass;
    body_pass_start(&pass, h);
    for (uint64_t page = 0; page < pages; page++) {
        checksum_copy(copy, body + page * CHECKSUM_PAGE, checksum_page_size(h->body_size, page));
        put32(table + 4 * page, body_pass_page(&pass, copy));
    }
    image_bind_checksums(table, pages, pass.sum.crc);
    image_record(&h->record, pass.sum.crc, &pass.tally);
}

void image_estimate_keys(struct header *h)
{
    uint64_t ones =
        h->record.ones < h->m ? h->record.ones : h->m - 1; /* full: at least that many */
    h->record.n = (uint64_t)(sizing_of(h->layout)->estimated_keys(h->m, h->k, ones) + 0.5);
}

/* How many keys a slice may have by chance. */
static uint64_t most_by_chance(const struct header *h)
{
    const double units = (double)geometry_units_of(h->layout, h->m);
    const double share = (double)h->capacity * units / (double)header_range(h);
    return (uint64_t)(share + DEVIATIONS * (sqrt(share) + 1));
}

uint64_t image_most_keys(const struct header *h)
{
    const double target =
        h->fpr > 0 ? h->fpr : sizing_rate(h->layout, header_range(h), h->k, h->capacity);
    const uint64_t most = sizing_most_keys(h->layout, geometry_units_of(h->layout, h->m), h->k,
                                           2 * target, h->capacity);
    const uint64_t chance = header_is_slice(h) ? most_by_chance(h) : 0;
    return most > chance ? most : chance;
}

int image_encode(struct header *h, uint8_t *bytes)
{
    struct header decoded;
    struct header_faults faults = { 0 };
    header_encode(h, bytes);
    decode_header(bytes, header_whole_size(h), &decoded, &faults);
    return faults.first;
}
