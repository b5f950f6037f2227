/* SPDX-License-Identifier: MIT
 * Checks of a header: the rules of validity V1 to V34 in order (format-spec.md, section 13). */
#include "format/decode.h"

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/hash.h"
#include "format/probe.h"

static bool all_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static int magic_error(const uint8_t *bytes, size_t size)
{
    static const struct {
        uint8_t size, bytes[10];
    } text_modes[] = {
        { 7, { 0xBF, 'B', 'L', 'M', '\n', 0x1A, '\n' } },
        { 10, { 0xBF, 'B', 'L', 'M', '\r', '\r', '\n', 0x1A, '\r', '\n' } },
        { 9, { 0xBF, 'B', 'L', 'M', '\r', '\n', 0x1A, '\r', '\n' } },
        { 8, { 0xBF, 'B', 'L', 'M', '\r', '\r', 0x1A, '\r' } },
        { 8, { 0xBF, 'B', 'L', 'M', '\n', '\n', 0x1A, '\n' } },
        { 8, { 0x3F, 'B', 'L', 'M', '\r', '\n', 0x1A, '\n' } },
    };
    if (memcmp(bytes, header_magic, size < sizeof header_magic ? size : sizeof header_magic) == 0)
        return 0;
    for (size_t i = 0; i < sizeof text_modes / sizeof text_modes[0] && size >= 6; i++) {
        size_t compare = size < text_modes[i].size ? size : text_modes[i].size;
        if (memcmp(bytes, text_modes[i].bytes, compare) == 0)
            return BLOOMFILE_ETEXTMODE;
    }
    return BLOOMFILE_EMAGIC;
}

/* V9 to V18. */
static void check_fields(const uint8_t *bytes, const struct header *h, struct header_faults *faults)
{
    const bool known = layout_known(h->layout);
    if (!known)
        HEADER_FAULT(BLOOMFILE_ELAYOUT, layout);
    const bool app_hash = hash_is_applications(h->hash_id);
    if (h->hash_id != HASH_XXH3_64 && (!app_hash || faults->xxh3_only))
        HEADER_FAULT(BLOOMFILE_EHASH, hash_id);
    else if (!app_hash && h->self_test != hash_self_test(h->seed))
        HEADER_FAULT(BLOOMFILE_ESELFTEST, self_test);
    const bool solved = known && layout_of(h->layout)->solved;
    if (solved ? h->k != 0 : h->k < 1 || h->k > BLOOMFILE_MAX_HASHES)
        HEADER_FAULT(BLOOMFILE_EHASHCOUNT, k);
    bool bits_valid = known && geometry_bits_valid(h->layout, h->m);
    if (known && !bits_valid)
        HEADER_FAULT(BLOOMFILE_EBITS, m);
    if (h->body_offset != h->header_size)
        HEADER_FAULT(BLOOMFILE_EOFFSET, body_offset);
    if (bits_valid && h->body_size != geometry_of(h->layout, h->m, h->header_size).body_size)
        HEADER_FAULT(BLOOMFILE_EOFFSET, body_size);
    if (h->capacity < 1 || h->capacity > GEOMETRY_MAX_CAPACITY)
        HEADER_FAULT(BLOOMFILE_ECAPACITY, capacity);
    if (get64(bytes + AT_fpr) >= HEADER_FPR_LIMIT)
        HEADER_FAULT(BLOOMFILE_ERATE, fpr);
    const uint64_t most = solved ? h->m : BLOOMFILE_MAX_BITS;
    if (bits_valid && (h->m_unfolded > most || h->m_unfolded < h->m || h->m_unfolded % h->m != 0))
        HEADER_FAULT(BLOOMFILE_EUNFOLDED, m_unfolded);
    size_t label_size = strlen(h->label);
    if (!header_label_valid(h->label, label_size) ||
        !all_zero(bytes + AT_label + label_size, BLOOMFILE_MAX_LABEL - label_size))
        HEADER_FAULT(BLOOMFILE_ELABEL, label);
}

/* V25 to V27. geometry_is_sound() must hold. */
static void check_image_size(const struct header *h, uint64_t image_size,
                             struct header_faults *faults)
{
    const uint64_t own = geometry_of(h->layout, h->m, h->header_size).image_size;
    const uint64_t whole = header_whole_size(h);
    const bool last = h->layer + 1 == h->layers;
    if (h->layers != 0 && (last ? whole != own : whole <= header_layer_stride(h)))
        HEADER_FAULT(BLOOMFILE_ESERIES, rest_size);
    if (image_size < own || image_size < whole)
        header_fault(faults, BLOOMFILE_ETRUNCATED, image_size, "size");
    if (image_size > whole)
        header_fault(faults, BLOOMFILE_ETRAILING, whole, "size");
}

/* Returns whether the image may be live, or may have been live. */
static bool may_be_live(const struct header *h)
{
    const bool solved = layout_known(h->layout) && layout_of(h->layout)->solved;
    return h->header_size == GEOMETRY_FILE_HEADER && !solved && !header_is_slice(h);
}

static bool is_or_was_live(const struct record *r)
{
    return r->state == BLOOMFILE_STATE_LIVE || r->state == BLOOMFILE_STATE_POISONED;
}

/* V29 to V31. */
static bool record_state_valid(const struct header *h)
{
    const struct record *r = &h->record;
    bool sealed = r->state == BLOOMFILE_STATE_SEALED;
    if (!sealed && !is_or_was_live(r))
        return false;
    if (!sealed && (!may_be_live(h) || r->body_crc != 0))
        return false;
    if (sealed != (r->sequence == HEADER_SEALED_SEQUENCE))
        return false;
    if (sealed && !all_zero(r->boot_id, sizeof r->boot_id))
        return false;
    if (sealed != all_zero(r->identity, sizeof r->identity))
        return false;
    if (r->ones > h->m || r->overflow > r->ones)
        return false;
    return r->overflow == 0 || (layout_known(h->layout) && layout_of(h->layout)->counts);
}

/* V28 to V33. Leaves the record in force in h->record. */
static void check_records(const uint8_t *bytes, struct header *h, struct header_faults *faults)
{
    static const char *const names[2] = { "record 0", "record 1" };
    const uint32_t half = header_record_offset(h, 0), size = header_record_size(h);
    const uint32_t header_crc = get32(bytes + half - 4);
    const uint8_t *at[2] = { bytes + half, bytes + half + size };
    struct record records[2];
    bool intact[2];
    for (int i = 0; i < 2; i++) {
        header_read_record(at[i], h->header_size, &records[i]);
        intact[i] = get32(at[i] + size - 4) == checksum(at[i], size - 4) &&
                    records[i].header_crc == header_crc;
    }
    unsigned now = intact[1] && (!intact[0] || records[1].sequence > records[0].sequence);
    unsigned other = 1 - now;
    bool identical = memcmp(at[0], at[1], size) == 0;
    h->crc = header_crc;
    h->record = records[now];
    h->in_force = now;
    h->other_intact = intact[other];
    h->records_identical = identical;
    if (!intact[now]) {
        header_fault(faults, BLOOMFILE_ERECORD, half, names[0]);
        header_fault(faults, BLOOMFILE_ERECORD, half + size, names[1]);
        return;
    }
    if (h->record.state == BLOOMFILE_STATE_LIVE && records[other].state == BLOOMFILE_STATE_POISONED)
        h->record.state = BLOOMFILE_STATE_POISONED;
    bool contradictory = intact[other] && records[0].sequence == records[1].sequence && !identical;
    if (contradictory)
        header_fault(faults, BLOOMFILE_ERECORD, half + size, names[1]);
    if (!record_state_valid(h))
        header_fault(faults, BLOOMFILE_ESTATE, half + size * now, names[now]);
    const bool mixed = intact[other] && !contradictory && is_or_was_live(&records[0]) &&
                       is_or_was_live(&records[1]) &&
                       !header_same_identity(&records[0], &records[1]);
    h->identities_differ = mixed;
    if (mixed)
        header_fault(faults, BLOOMFILE_ERECORD, half + size * other, names[other]);
    bool seal_under_way =
        may_be_live(h) && intact[other] && records[other].state == BLOOMFILE_STATE_LIVE;
    bool sealed = h->record.state == BLOOMFILE_STATE_SEALED;
    if (sealed && !identical && !seal_under_way && !contradictory)
        header_fault(faults, BLOOMFILE_ERECORD, half + size * other, names[other]);
}

bool decode_seal_unfinished(const struct header *h, const struct header_faults *faults)
{
    bool only_the_other = faults->count == 0 || (faults->count == 1 && !h->other_intact &&
                                                 faults->first == BLOOMFILE_ERECORD);
    return only_the_other && may_be_live(h) && h->record.state == BLOOMFILE_STATE_SEALED &&
           !h->records_identical;
}

void decode_header(const uint8_t *bytes, uint64_t image_size, struct header *h,
                   struct header_faults *faults)
{
    size_t have = image_size < HEADER_MAX ? (size_t)image_size : HEADER_MAX;
    memset(h, 0, sizeof *h);
    if (have == 0) {
        header_fault(faults, BLOOMFILE_EEMPTY, 0, "size");
        return;
    }
    int error = magic_error(bytes, have);
    if (error != 0)
        HEADER_FAULT(error, magic);

    uint8_t padded[GEOMETRY_EMBEDDED_HEADER / 2] = { 0 };
    memcpy(padded, bytes, have < sizeof padded ? have : sizeof padded);
    header_read_static(padded, h);
    if (have < AT_compat) {
        header_fault(faults, BLOOMFILE_ETRUNCATED, have, "size");
        return;
    }
    if (!geometry_header_known(h->header_size)) {
        HEADER_FAULT(BLOOMFILE_EFORM, header_size);
        return;
    }
    if (have < h->header_size) {
        header_fault(faults, BLOOMFILE_ETRUNCATED, have, "size");
        return;
    }
    uint32_t half = header_record_offset(h, 0);
    bool damaged = get32(bytes + half - 4) != checksum(bytes, half - 4);
    if (damaged)
        header_fault(faults, BLOOMFILE_EHEADER, half - 4, "header_crc");
    if (h->version != HEADER_VERSION) {
        HEADER_FAULT(BLOOMFILE_EVERSION, version);
        if (!damaged)
            return; /* in a newer version the fields may mean something else */
    }
    if ((h->incompat & ~(HEADER_INCOMPAT_LAYER | HEADER_INCOMPAT_SLICE)) != 0)
        HEADER_FAULT(BLOOMFILE_EFEATURE, incompat);
    const bool room = h->header_size == GEOMETRY_FILE_HEADER;
    if (header_is_slice(h) && room)
        header_read_slice(bytes, h);
    else if (header_is_layer(h) && room)
        header_read_layer(bytes, h);
    check_fields(bytes, h, faults);
    partial_check(bytes, h, faults);
    if (geometry_is_sound(h->layout, h->m, h->header_size))
        check_image_size(h, image_size, faults);
    check_records(bytes, h, faults);
    partial_check_state(h, faults);
}

/* ---- layers and slices: each has a bit in `incompat`, and an image has at most one of them */

#define PAGE_BLOCKS (CHECKSUM_PAGE / PROBE_BLOCK_BYTES)

/* V21 to V24. */
static void check_layer(const uint8_t *bytes, const struct header *h, struct header_faults *faults)
{
    const bool sealed = h->layers != 0, forgets = h->generations != 0;
    if (h->header_size != GEOMETRY_FILE_HEADER) {
        HEADER_FAULT(BLOOMFILE_ESERIES, header_size);
        return;
    }
    if (layout_known(h->layout) && !layout_of_layers(h->layout))
        HEADER_FAULT(BLOOMFILE_ESERIES, layout);
    if (sealed != (h->series == 0))
        HEADER_FAULT(BLOOMFILE_ESERIES, series);
    if (sealed && h->layer >= h->layers)
        HEADER_FAULT(BLOOMFILE_ESERIES, layer);
    if (forgets && (sealed || h->generations < 2 || h->generations > HEADER_MOST_LAYERS))
        HEADER_FAULT(BLOOMFILE_ESERIES, generations);
    if (h->layers > HEADER_MOST_LAYERS)
        HEADER_FAULT(BLOOMFILE_ESERIES, layers);
    if (!sealed && h->rest_size != 0)
        HEADER_FAULT(BLOOMFILE_ESERIES, rest_size);
    if (!sealed && h->link != 0)
        HEADER_FAULT(BLOOMFILE_ESERIES, link);
    if (get64(bytes + AT_series_fpr) >= HEADER_FPR_LIMIT)
        HEADER_FAULT(BLOOMFILE_ESERIES, series_fpr);
    if (!forgets && h->period != 0)
        HEADER_FAULT(BLOOMFILE_ESERIES, period);
    const uint64_t most = forgets || sealed ? INT64_MAX : HEADER_MOST_LAYERS - 1;
    if (h->layer > most)
        HEADER_FAULT(BLOOMFILE_ESERIES, layer);
    const bool rated = h->fpr != 0 && h->series_fpr != 0;
    if (!sealed && !forgets && !rated)
        HEADER_FAULT(BLOOMFILE_ESERIES, series_fpr);
    if (!forgets && h->began != 0)
        HEADER_FAULT(BLOOMFILE_ESERIES, began);
}

/* V19 and V20. */
static void check_slice(const struct header *h, struct header_faults *faults)
{
    const uint64_t blocks = h->m / PROBE_BLOCK_BITS;
    if (h->header_size != GEOMETRY_FILE_HEADER) {
        HEADER_FAULT(BLOOMFILE_ESLICE, header_size);
        return;
    }
    if (header_is_layer(h))
        HEADER_FAULT(BLOOMFILE_ESLICE, incompat);
    if (layout_known(h->layout) && !layout_has_slices(h->layout))
        HEADER_FAULT(BLOOMFILE_ESLICE, layout);
    if (h->m_unfolded != h->m)
        HEADER_FAULT(BLOOMFILE_ESLICE, m_unfolded);
    if (h->first_block % PAGE_BLOCKS != 0)
        HEADER_FAULT(BLOOMFILE_ESLICE, first_block);
    if (h->whole_blocks > BLOOMFILE_MAX_BITS / PROBE_BLOCK_BITS ||
        h->first_block >= h->whole_blocks)
        HEADER_FAULT(BLOOMFILE_ESLICE, whole_blocks);
    else if (blocks > h->whole_blocks - h->first_block)
        HEADER_FAULT(BLOOMFILE_ESLICE, m);
    else if (blocks < h->whole_blocks - h->first_block && blocks % PAGE_BLOCKS != 0)
        HEADER_FAULT(BLOOMFILE_ESLICE, m);
}

void partial_check(const uint8_t *bytes, const struct header *h, struct header_faults *faults)
{
    if (header_is_slice(h))
        check_slice(h, faults);
    else if (header_is_layer(h))
        check_layer(bytes, h, faults);
}

/* V34: the state must agree with the static header, which never changes. */
static void check_layer_state(const struct header *h, struct header_faults *faults)
{
    const bool sealed = h->record.state == BLOOMFILE_STATE_SEALED;
    if (h->header_size == GEOMETRY_FILE_HEADER && sealed != (h->layers != 0))
        HEADER_FAULT(BLOOMFILE_ESERIES, layers);
}

void partial_check_state(const struct header *h, struct header_faults *faults)
{
    if (header_is_layer(h) && !header_is_slice(h))
        check_layer_state(h, faults);
}

static uint64_t pages_of(uint64_t blocks)
{
    return (blocks + PAGE_BLOCKS - 1) / PAGE_BLOCKS;
}

uint64_t partial_first_block(uint64_t blocks, uint32_t slice, uint32_t slices)
{
    const uint64_t pages = pages_of(blocks);
    const uint64_t first = pages / slices * slice + pages % slices * slice / slices;
    return slice == slices ? blocks : first * PAGE_BLOCKS;
}

/* The last slice whose first page, pages * slice / slices, is not after the block's page. */
uint32_t partial_slice_of(uint64_t blocks, uint64_t block, uint32_t slices)
{
    return (uint32_t)(((block / PAGE_BLOCKS + 1) * slices - 1) / pages_of(blocks));
}
