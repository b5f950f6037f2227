/* SPDX-License-Identifier: MIT
 * Encodes and decodes field by field, and applies the rules of validity in their order. */
#include "format/header.h"

#include <bloomfile_inspect.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/hash.h"
#include "format/shared.h"
#include "format/utf8.h"

#define FPR_LIMIT 0x3FF0000000000000u /* the bits of 1.0 */

static const uint8_t magic[8] = { 0xBF, 'B', 'L', 'M', '\r', '\n', 0x1A, '\n' };

static uint32_t static_size(uint32_t header_size)
{
    return header_size / 2;
}

static uint32_t record_size(uint32_t header_size)
{
    return header_size / 4;
}

/* Copies a field from the bytes to its member, or back. Numbers are little-endian in the bytes. */
static void copy_field(void *to, const void *from, size_t size, enum bloomfile_field_kind kind)
{
    if (kind == BLOOMFILE_FIELD_BYTES || kind == BLOOMFILE_FIELD_TEXT) {
        memcpy(to, from, size);
    } else if (size == sizeof(uint32_t)) {
        const uint32_t number = get32(from);
        memcpy(to, &number, sizeof number);
    } else {
        const uint64_t number = get64(from);
        memcpy(to, &number, sizeof number);
    }
}

#define FITS(offset, size, name, type, kind)                                                       \
    _Static_assert(sizeof(type) == (size) + (BLOOMFILE_FIELD_##kind == BLOOMFILE_FIELD_TEXT),      \
                   #name);
HEADER_FIELDS(FITS)
SERIES_FIELDS(FITS)
RECORD_FIELDS(FITS)

#define ENCODE(offset, size, name, type, kind)                                                     \
    copy_field(bytes + (offset), &from->name, size, BLOOMFILE_FIELD_##kind);
#define DECODE(offset, size, name, type, kind)                                                     \
    copy_field(&to->name, bytes + (offset), size, BLOOMFILE_FIELD_##kind);

/* ---- framing: the kind in the lowest byte, the size above it */

uint32_t header_framing(uint32_t kind, uint32_t size)
{
    const bool sized = kind == BLOOMFILE_FIXED;
    if (kind > BLOOMFILE_FIXED || sized != (size != 0) || size > BLOOMFILE_MAX_FRAMING_SIZE)
        return BLOOMFILE_FRAMING_UNKNOWN;
    return kind | size << 8;
}

uint32_t header_framing_kind(const struct header *h)
{
    return h->framing & 0xFF;
}

uint32_t header_framing_size(const struct header *h)
{
    return h->framing >> 8;
}

/* ---- encode */

uint32_t header_record_size(const struct header *h)
{
    return record_size(h->header_size);
}

uint32_t header_record_offset(const struct header *h, unsigned slot)
{
    return static_size(h->header_size) + slot * record_size(h->header_size);
}

static void encode_static(const struct header *from, uint8_t *bytes)
{
    HEADER_FIELDS(ENCODE)
    if (header_is_layer(from)) {
        SERIES_FIELDS(ENCODE)
    }
}

static void encode_record(const struct record *from, uint8_t *bytes)
{
    RECORD_FIELDS(ENCODE)
}

void header_encode_record(const struct header *h, const struct record *r, const uint8_t *kept,
                          uint8_t *at)
{
    const uint32_t size = record_size(h->header_size);
    if (kept != NULL)
        memcpy(at, kept, size);
    else
        memset(at, 0, size);
    encode_record(r, at);
    put32(at + RECORD_AT_header_crc, h->crc);
    put32(at + size - 4, checksum(at, size - 4));
}

void header_encode(struct header *h, uint8_t *bytes)
{
    memset(bytes, 0, h->header_size);
    memcpy(h->magic, magic, sizeof h->magic);
    encode_static(h, bytes);

    uint32_t half = static_size(h->header_size), quarter = record_size(h->header_size);
    h->crc = checksum(bytes, half - 4);
    put32(bytes + half - 4, h->crc);
    header_encode_record(h, &h->record, NULL, bytes + half);
    if (h->record.state == BLOOMFILE_SEALED)
        memcpy(bytes + half + quarter, bytes + half, quarter);
}

/* ---- decode */

static void decode_static(const uint8_t *bytes, struct header *to)
{
    HEADER_FIELDS(DECODE)
    const bool framed = (to->compat & HEADER_COMPAT_FRAMING) != 0;
    to->framing = framed ? header_framing(header_framing_kind(to), header_framing_size(to)) : 0;
}

static void decode_layer(const uint8_t *bytes, struct header *to)
{
    SERIES_FIELDS(DECODE)
}

static void decode_record(const uint8_t *bytes, struct record *to)
{
    RECORD_FIELDS(DECODE)
}

/* ---- validate: the rules of section 11 */

static void fault(struct header_faults *faults, int error, uint64_t offset, const char *field)
{
    if (faults->first == 0)
        faults->first = error;
    if (faults->count < faults->room)
        faults->list[faults->count] = (struct bloomfile_fault){
            .error = error, .offset = offset, .page = UINT64_MAX, .field = field
        };
    faults->count++;
}

#define FIELD_FAULT(error, name) fault(faults, error, AT_##name, #name)

static bool all_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

bool header_label_valid(const char *label, size_t size)
{
    return size <= BLOOMFILE_MAX_LABEL && utf8_is_clean((const uint8_t *)label, size);
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
    if (memcmp(bytes, magic, size < sizeof magic ? size : sizeof magic) == 0)
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
        FIELD_FAULT(BLOOMFILE_ELAYOUT, layout);
    const bool app_hash = hash_is_applications(h->hash_id);
    if (h->hash_id != HASH_XXH3_64 && (!app_hash || faults->xxh3_only))
        FIELD_FAULT(BLOOMFILE_EHASH, hash_id);
    else if (!app_hash && h->self_test != hash_self_test(h->seed))
        FIELD_FAULT(BLOOMFILE_ESELFTEST, self_test);
    const bool solved = known && layout_of(h->layout)->solved;
    if (solved ? h->k != 0 : h->k < 1 || h->k > BLOOMFILE_MAX_HASHES)
        FIELD_FAULT(BLOOMFILE_EHASHES, k);
    bool bits_valid = known && geometry_bits_valid(h->layout, h->m);
    if (known && !bits_valid)
        FIELD_FAULT(BLOOMFILE_EBITS, m);
    if (h->body_offset != h->header_size)
        FIELD_FAULT(BLOOMFILE_EBODYPLACE, body_offset);
    if (bits_valid && h->body_size != geometry_of(h->layout, h->m, h->header_size).body_size)
        FIELD_FAULT(BLOOMFILE_EBODYPLACE, body_size);
    if (h->capacity < 1 || h->capacity > GEOMETRY_MAX_CAPACITY)
        FIELD_FAULT(BLOOMFILE_ECAPACITY, capacity);
    if (get64(bytes + AT_fpr) >= FPR_LIMIT)
        FIELD_FAULT(BLOOMFILE_ERATE, fpr);
    const uint64_t most = solved ? h->m : BLOOMFILE_MAX_BITS;
    if (bits_valid && (h->m_unfolded > most || h->m_unfolded < h->m || h->m_unfolded % h->m != 0))
        FIELD_FAULT(BLOOMFILE_EUNFOLDED, m_unfolded);
    size_t label_size = strlen(h->label);
    if (!header_label_valid(h->label, label_size) ||
        !all_zero(bytes + AT_label + label_size, BLOOMFILE_MAX_LABEL - label_size))
        FIELD_FAULT(BLOOMFILE_ELABEL, label);
}

/* V28 to V32 of a layer's header, but for the state of its record. */
static void check_layer(const uint8_t *bytes, const struct header *h, struct header_faults *faults)
{
    const bool sealed = h->layers != 0, forgets = h->generations != 0;
    if (h->header_size != GEOMETRY_FILE_HEADER) {
        FIELD_FAULT(BLOOMFILE_ESERIES, header_size);
        return;
    }
    if (layout_known(h->layout) && !layout_of_layers(h->layout))
        FIELD_FAULT(BLOOMFILE_ESERIES, layout);
    if (sealed != (h->series == 0))
        FIELD_FAULT(BLOOMFILE_ESERIES, series);
    if (sealed && h->layer >= h->layers)
        FIELD_FAULT(BLOOMFILE_ESERIES, layer);
    if (forgets && (sealed || h->generations < 2 || h->generations > HEADER_MOST_LAYERS))
        FIELD_FAULT(BLOOMFILE_ESERIES, generations);
    if (h->layers > HEADER_MOST_LAYERS)
        FIELD_FAULT(BLOOMFILE_ESERIES, layers);
    if (!sealed && h->rest_size != 0)
        FIELD_FAULT(BLOOMFILE_ESERIES, rest_size);
    if (!sealed && h->link != 0)
        FIELD_FAULT(BLOOMFILE_ESERIES, link);
    if (get64(bytes + AT_series_fpr) >= FPR_LIMIT)
        FIELD_FAULT(BLOOMFILE_ESERIES, series_fpr);
    if (!forgets && h->period != 0)
        FIELD_FAULT(BLOOMFILE_ESERIES, period);
    const uint64_t most = forgets || sealed ? INT64_MAX : HEADER_MOST_LAYERS - 1;
    if (h->layer > most)
        FIELD_FAULT(BLOOMFILE_ESERIES, layer);
    const bool rated = h->fpr != 0 && h->series_fpr != 0;
    if (!sealed && !forgets && !rated)
        FIELD_FAULT(BLOOMFILE_ESERIES, series_fpr);
    if (!forgets && h->began != 0)
        FIELD_FAULT(BLOOMFILE_ESERIES, began);
}

uint64_t header_layer_stride(const struct header *h)
{
    const uint64_t size = geometry_of(h->layout, h->m, h->header_size).image_size;
    return (size + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE * CHECKSUM_PAGE;
}

uint64_t header_whole_size(const struct header *h)
{
    return h->layers != 0 ? h->rest_size : geometry_of(h->layout, h->m, h->header_size).image_size;
}

/* V31, V19 and V20, once the geometry is known to be sound. */
static void check_size(const struct header *h, uint64_t image_size, struct header_faults *faults)
{
    const uint64_t own = geometry_of(h->layout, h->m, h->header_size).image_size;
    const uint64_t whole = header_whole_size(h);
    const bool last = h->layer + 1 == h->layers;
    if (h->layers != 0 && (last ? whole != own : whole <= header_layer_stride(h)))
        FIELD_FAULT(BLOOMFILE_ESERIES, rest_size);
    if (image_size < own || image_size < whole)
        fault(faults, BLOOMFILE_ETRUNCATED, image_size, "size");
    if (image_size > whole)
        fault(faults, BLOOMFILE_ETRAILING, whole, "size");
}

/* Whether such an image may be live, or may have been. */
static bool may_be_live(const struct header *h)
{
    const bool solved = layout_known(h->layout) && layout_of(h->layout)->solved;
    return h->header_size == GEOMETRY_FILE_HEADER && !solved;
}

/* V22 and V23. */
static bool record_state_valid(const struct header *h)
{
    const struct record *r = &h->record;
    bool sealed = r->state == BLOOMFILE_SEALED;
    if (!sealed && r->state != BLOOMFILE_LIVE && r->state != BLOOMFILE_POISONED)
        return false;
    if (!sealed && (!may_be_live(h) || r->body_crc != 0))
        return false;
    if (sealed != (r->sequence == HEADER_SEALED_SEQUENCE))
        return false;
    if (sealed && !all_zero(r->boot_id, sizeof r->boot_id))
        return false;
    if (r->ones > h->m || r->overflow > r->ones)
        return false;
    return r->overflow == 0 || (layout_known(h->layout) && layout_of(h->layout)->counts);
}

/* V21 to V24. Leaves the record in force in h->record. */
static void check_records(const uint8_t *bytes, struct header *h, struct header_faults *faults)
{
    static const char *const names[2] = { "record 0", "record 1" };
    const uint32_t half = static_size(h->header_size), size = record_size(h->header_size);
    const uint32_t header_crc = get32(bytes + half - 4);
    const uint8_t *at[2] = { bytes + half, bytes + half + size };
    struct record records[2];
    bool intact[2];
    for (int i = 0; i < 2; i++) {
        decode_record(at[i], &records[i]);
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
        fault(faults, BLOOMFILE_ERECORD, half, names[0]);
        fault(faults, BLOOMFILE_ERECORD, half + size, names[1]);
        return;
    }
    if (h->record.state == BLOOMFILE_LIVE && records[other].state == BLOOMFILE_POISONED)
        h->record.state = BLOOMFILE_POISONED;
    bool contradictory = intact[other] && records[0].sequence == records[1].sequence && !identical;
    if (contradictory)
        fault(faults, BLOOMFILE_ERECORD, half + size, names[1]);
    if (!record_state_valid(h))
        fault(faults, BLOOMFILE_ESTATE, half + size * now, names[now]);
    bool seal_under_way = may_be_live(h) && intact[other] &&
                          records[other].state == BLOOMFILE_LIVE &&
                          records[other].sequence != HEADER_SEALED_SEQUENCE;
    bool sealed = h->record.state == BLOOMFILE_SEALED;
    if (sealed && !identical && !seal_under_way && !contradictory)
        fault(faults, BLOOMFILE_ERECORD, half + size * other, names[other]);
}

/* V29 and V30: what the static header says of the state, which it never changes. */
static void check_layer_state(const struct header *h, struct header_faults *faults)
{
    const bool sealed = h->record.state == BLOOMFILE_SEALED;
    if (sealed != (h->layers != 0))
        FIELD_FAULT(BLOOMFILE_ESERIES, layers);
}

bool header_seal_unfinished(const struct header *h, const struct header_faults *faults)
{
    bool only_the_other = faults->count == 0 || (faults->count == 1 && !h->other_intact &&
                                                 faults->first == BLOOMFILE_ERECORD);
    return only_the_other && may_be_live(h) && h->record.state == BLOOMFILE_SEALED &&
           !h->records_identical;
}

bool header_is_still(const struct header *h, const uint8_t *image)
{
    const uint32_t half = static_size(h->header_size), size = record_size(h->header_size);
    if (get32(image + half - 4) != h->crc || checksum(image, half - 4) != h->crc)
        return false;
    if (h->record.state != BLOOMFILE_SEALED)
        return true;
    uint8_t expected[HEADER_RECORD_MAX];
    const uint8_t *record = image + half + h->in_force * size;
    header_encode_record(h, &h->record, record, expected);
    return memcmp(record, expected, size) == 0;
}

const uint8_t *header_state(const uint8_t *image, unsigned slot)
{
    return image + static_size(GEOMETRY_FILE_HEADER) + slot * record_size(GEOMETRY_FILE_HEADER) +
           RECORD_AT_state;
}

void header_decode(const uint8_t *bytes, uint64_t image_size, struct header *h,
                   struct header_faults *faults)
{
    size_t have = image_size < HEADER_MAX ? (size_t)image_size : HEADER_MAX;
    memset(h, 0, sizeof *h);
    if (have == 0) {
        fault(faults, BLOOMFILE_EEMPTY, 0, "size");
        return;
    }
    int error = magic_error(bytes, have);
    if (error != 0)
        FIELD_FAULT(error, magic);

    uint8_t padded[GEOMETRY_EMBEDDED_HEADER / 2] = { 0 };
    memcpy(padded, bytes, have < sizeof padded ? have : sizeof padded);
    decode_static(padded, h);
    if (have < AT_compat) {
        fault(faults, BLOOMFILE_ETRUNCATED, have, "size");
        return;
    }
    if (!geometry_header_known(h->header_size)) {
        FIELD_FAULT(BLOOMFILE_EHEADERSIZE, header_size);
        return;
    }
    if (have < h->header_size) {
        fault(faults, BLOOMFILE_ETRUNCATED, have, "size");
        return;
    }
    uint32_t half = static_size(h->header_size);
    bool damaged = get32(bytes + half - 4) != checksum(bytes, half - 4);
    if (damaged)
        fault(faults, BLOOMFILE_EHEADER, half - 4, "header_crc");
    if (h->version != HEADER_VERSION) {
        FIELD_FAULT(BLOOMFILE_EVERSION, version);
        if (!damaged)
            return; /* the fields of a newer version may mean something else */
    }
    if ((h->incompat & ~HEADER_INCOMPAT_LAYER) != 0)
        FIELD_FAULT(BLOOMFILE_EFEATURE, incompat);
    const bool layer = header_is_layer(h);
    if (layer && h->header_size == GEOMETRY_FILE_HEADER)
        decode_layer(bytes, h);
    check_fields(bytes, h, faults);
    if (layer)
        check_layer(bytes, h, faults);
    if (geometry_is_sound(h->layout, h->m, h->header_size))
        check_size(h, image_size, faults);
    check_records(bytes, h, faults);
    if (layer)
        check_layer_state(h, faults);
}
