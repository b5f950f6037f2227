/* SPDX-License-Identifier: MIT
 * Encoding and decoding of a header, field by field, and of the trailer of the compact form. */
#include "format/header.h"

#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <bloomfile_view.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/hash.h"
#include "format/invalid.h"
#include "format/layout.h"

const uint8_t header_magic[8] = { 0xBF, 'B', 'L', 'M', '\r', '\n', 0x1A, '\n' };

static uint32_t static_size(uint32_t header_size)
{
    return header_size / 2;
}

static uint32_t record_size(uint32_t header_size)
{
    return header_size / 4;
}

/* Copies a field from bytes to its member, or back. Numbers are little-endian in the bytes. */
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
SLICE_FIELDS(FITS)
RECORD_FIELDS(FITS)
RECORD_FILE_FIELDS(FITS)

#define ENCODE(offset, size, name, type, kind)                                                     \
    copy_field(bytes + (offset), &from->name, size, BLOOMFILE_FIELD_##kind);
#define DECODE(offset, size, name, type, kind)                                                     \
    copy_field(&to->name, bytes + (offset), size, BLOOMFILE_FIELD_##kind);

/* ---- kinds of keys: the kind in the lowest byte, the size above it */

const char *bloomfile_key_kind_name(uint32_t key_kind)
{
    static const char *const names[] = { "unknown", "text", "lower", "integers", "fixed", "bytes" };
    return key_kind <= BLOOMFILE_KEYS_BYTES ? names[key_kind] : NULL;
}

bool header_keys_known(uint32_t key_kind)
{
    const uint32_t kind = key_kind & 0xFF;
    return kind <= BLOOMFILE_KEYS_BYTES && (kind == BLOOMFILE_KEYS_FIXED) == (key_kind != kind);
}

int header_compare_keys(uint32_t key_kind, uint32_t other)
{
    if (key_kind == other)
        return 0;
    if (!header_keys_known(key_kind) || !header_keys_known(other))
        return BLOOMFILE_EFEATURE;
    const bool known = key_kind != BLOOMFILE_KEYS_UNKNOWN && other != BLOOMFILE_KEYS_UNKNOWN;
    return known || (key_kind | other) == BLOOMFILE_KEYS_LOWER ? BLOOMFILE_EKEYKIND : 0;
}

/* Returns whether keys of this kind can be in a filter with a known key_kind. size: bytes of every
 * key, or 0 if sizes differ. */
static bool accepts(uint32_t key_kind, uint32_t kind, uint64_t size)
{
    const bool bytes = kind == BLOOMFILE_KEYS_FIXED || kind == BLOOMFILE_KEYS_BYTES;
    switch (key_kind & 0xFF) {
    case BLOOMFILE_KEYS_UNKNOWN:
        return true;
    case BLOOMFILE_KEYS_INTEGERS:
        return kind == key_kind || (bytes && size == sizeof(int64_t));
    case BLOOMFILE_KEYS_FIXED:
        return bytes && size == key_kind >> 8;
    case BLOOMFILE_KEYS_BYTES:
        return bytes;
    default: /* text, unchanged or in lower case */
        return kind == BLOOMFILE_KEYS_TEXT || kind == BLOOMFILE_KEYS_BYTES || kind == key_kind;
    }
}

int bloomfile_check_keys(const struct bloomfile_info *filter, uint32_t key_kind, uint64_t key_size)
{
    if (key_kind == BLOOMFILE_KEYS_UNKNOWN || key_kind > BLOOMFILE_KEYS_BYTES)
        return invalid(BLOOMFILE_EVALUE, "key_kind");
    const bool sized = key_kind == BLOOMFILE_KEYS_FIXED || key_kind == BLOOMFILE_KEYS_BYTES;
    if (sized ? key_kind == BLOOMFILE_KEYS_FIXED && key_size == 0 : key_size != 0)
        return invalid(BLOOMFILE_EVALUE, "key_size");
    const uint32_t of_filter = filter->key_kind | filter->key_size << 8;
    if (filter->key_kind > UINT8_MAX || !header_keys_known(of_filter))
        return BLOOMFILE_EFEATURE;
    return accepts(of_filter, key_kind, key_size) ? 0 : BLOOMFILE_EKEYKIND;
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
    if (header_is_slice(from)) {
        SLICE_FIELDS(ENCODE)
    } else if (header_is_layer(from)) {
        SERIES_FIELDS(ENCODE)
    }
}

static void encode_record(const struct record *from, uint32_t header_size, uint8_t *bytes)
{
    RECORD_FIELDS(ENCODE)
    if (header_size == GEOMETRY_FILE_HEADER) {
        RECORD_FILE_FIELDS(ENCODE)
    }
}

void header_encode_record(const struct header *h, const struct record *r, const uint8_t *kept,
                          uint8_t *at)
{
    const uint32_t size = record_size(h->header_size);
    if (kept != NULL)
        memcpy(at, kept, size);
    else
        memset(at, 0, size);
    encode_record(r, h->header_size, at);
    put32(at + RECORD_AT_header_crc, h->crc);
    put32(at + size - 4, checksum(at, size - 4));
}

void header_encode(struct header *h, uint8_t *bytes)
{
    memset(bytes, 0, h->header_size);
    memcpy(h->magic, header_magic, sizeof h->magic);
    encode_static(h, bytes);

    uint32_t half = static_size(h->header_size), quarter = record_size(h->header_size);
    h->crc = checksum(bytes, half - 4);
    put32(bytes + half - 4, h->crc);
    header_encode_record(h, &h->record, NULL, bytes + half);
    if (h->record.state == BLOOMFILE_STATE_SEALED)
        memcpy(bytes + half + quarter, bytes + half, quarter);
}

/* ---- decode */

void header_read_static(const uint8_t *bytes, struct header *to)
{
    HEADER_FIELDS(DECODE)
    if ((to->compat & HEADER_COMPAT_KEYS) == 0)
        to->key_kind = BLOOMFILE_KEYS_UNKNOWN;
}

void header_read_layer(const uint8_t *bytes, struct header *to)
{
    SERIES_FIELDS(DECODE)
}

void header_read_slice(const uint8_t *bytes, struct header *to)
{
    SLICE_FIELDS(DECODE)
}

void header_read_record(const uint8_t *bytes, uint32_t header_size, struct record *to)
{
    *to = (struct record){ 0 };
    RECORD_FIELDS(DECODE)
    if (header_size == GEOMETRY_FILE_HEADER) {
        RECORD_FILE_FIELDS(DECODE)
    }
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

bool header_is_still(const struct header *h, const uint8_t *image)
{
    const uint32_t half = static_size(h->header_size), size = record_size(h->header_size);
    if (get32(image + half - 4) != h->crc || checksum(image, half - 4) != h->crc)
        return false;
    if (h->record.state != BLOOMFILE_STATE_SEALED)
        return true;
    uint8_t expected[HEADER_RECORD_MAX];
    const uint8_t *record = image + half + h->in_force * size;
    header_encode_record(h, &h->record, record, expected);
    return memcmp(record, expected, size) == 0;
}

bool header_label_valid(const char *label, size_t size)
{
    return size <= BLOOMFILE_MAX_LABEL && utf8_is_clean((const uint8_t *)label, size);
}

void header_fault(struct header_faults *faults, int error, uint64_t offset, const char *field)
{
    if (faults->first == 0)
        faults->first = error;
    if (faults->count < faults->room)
        faults->list[faults->count] = (struct bloomfile_fault){
            .error = error, .offset = offset, .page = UINT64_MAX, .field = field
        };
    faults->count++;
}

/* ---- UTF-8 */

/* Returns the length of a UTF-8 sequence, from its first byte. Sets the valid range of the second
 * byte, which excludes overlong forms, surrogates, control characters and code points above
 * U+10FFFF. */
static unsigned sequence_length(uint8_t first, uint8_t *low, uint8_t *high)
{
    *low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : first == 0xC2 ? 0xA0 : 0x80;
    *high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (first >= 0x20 && first < 0x7F)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return 2;
    if (first >= 0xE0 && first <= 0xEF)
        return 3;
    if (first >= 0xF0 && first <= 0xF4)
        return 4;
    return 0;
}

bool utf8_is_clean(const uint8_t *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        uint8_t low, high;
        unsigned length = sequence_length(text[at], &low, &high);
        if (length == 0 || length > size - at)
            return false;
        if (length > 1 && (text[at + 1] < low || text[at + 1] > high))
            return false;
        for (unsigned i = 2; i < length; i++)
            if ((text[at + i] & 0xC0) != 0x80)
                return false;
        at += length;
    }
    return true;
}

/* ---- the trailer of the compact form: version, layout, hash, k, and a CRC-32 bound to the seed */

#define VERSION 1

enum { /* offsets in the trailer */
    AT_VERSION = 0,
    AT_LAYOUT = 1, /* low half: the layout; high half: units of the body beyond m */
    AT_HASH = 2,
    AT_K = 3,
    AT_CHECK = 4,
};

/* The CRC-32 of all bytes before it and of the digest of a fixed key: that digest depends on the
 * seed. */
static uint32_t check_of(const uint8_t *bytes, size_t size, uint64_t seed)
{
    static const uint8_t test_string[16] = { 0x80, 0x1D, 0xBA, 0x57, 0xF4, 0x91, 0x2E, 0xCB,
                                             0x68, 0x05, 0xA2, 0x3F, 0xDC, 0x79, 0x16, 0xB3 };
    return checksum(bytes, size) ^ (uint32_t)hash_key(seed, test_string, sizeof test_string);
}

void compact_encode(uint8_t *bytes, uint64_t seed, const struct compact_shape *shape)
{
    uint8_t *trailer = bytes + shape->size;
    const uint64_t unused = geometry_units_in(shape->layout, shape->size) -
                            geometry_units_of(shape->layout, shape->bits);
    trailer[AT_VERSION] = VERSION;
    trailer[AT_LAYOUT] = (uint8_t)(shape->layout | unused << 4);
    trailer[AT_HASH] = HASH_XXH3_64;
    trailer[AT_K] = (uint8_t)shape->hashes;
    put32(trailer + AT_CHECK, check_of(bytes, shape->size + AT_CHECK, seed));
}

bool compact_is_whole(const uint8_t *bytes, size_t size, uint64_t seed)
{
    if (size <= BLOOMFILE_TRAILER_SIZE)
        return false;
    const size_t checked = size - BLOOMFILE_TRAILER_SIZE + AT_CHECK;
    return get32(bytes + checked) == check_of(bytes, checked, seed);
}

int compact_decode(const uint8_t *bytes, size_t size, struct compact_shape *shape)
{
    if (size <= BLOOMFILE_TRAILER_SIZE)
        return BLOOMFILE_ENOTCOMPACT;
    const size_t body_size = size - BLOOMFILE_TRAILER_SIZE;
    const uint8_t *trailer = bytes + body_size;
    if (trailer[AT_VERSION] != VERSION)
        return BLOOMFILE_EVERSION;
    shape->layout = trailer[AT_LAYOUT] & 15;
    if (!layout_known(shape->layout) || layout_of(shape->layout)->solved)
        return BLOOMFILE_ELAYOUT;
    if (trailer[AT_HASH] != HASH_XXH3_64)
        return BLOOMFILE_EHASH;
    shape->hashes = trailer[AT_K];
    shape->bits = geometry_cells_in(shape->layout, body_size) - (trailer[AT_LAYOUT] >> 4);
    shape->size = body_size;
    return 0;
}
