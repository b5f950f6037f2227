/* SPDX-License-Identifier: MIT
 * The head of a patch, with the edits that turn the header of the base into that of the result. The
 * checksums are left out, because they follow from the rest; then headers differ in few bytes. */
#include "format/patch.h"

#include <bloomfile.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/header.h"
#include "format/layout.h"

enum {
    PATCH_AT_VERSION = 8,
    PATCH_AT_FEATURES = 9,
    PATCH_AT_LAYOUT = 10,
    PATCH_AT_BASE = 11,
    PATCH_AT_RESULT = 19,
    LEAST_EQUAL = 3, /* equal bytes between edits: another edit costs two bytes */
};

static const uint8_t magic[PATCH_MAGIC] = { 0xBF, 'D', 'L', 'T', '\r', '\n', 0x1A, '\n' };

/* ---- numbers */

size_t patch_put_number(uint8_t *to, uint64_t number)
{
    size_t size = 0;
    for (; number >= 0x80; number >>= 7)
        to[size++] = (uint8_t)(number | 0x80);
    to[size++] = (uint8_t)number;
    return size;
}

enum patch_taken patch_take_number(uint64_t *number, unsigned at, uint8_t byte)
{
    const uint64_t bits = byte & 0x7F;
    if (at >= PATCH_NUMBER_MOST || (at == PATCH_NUMBER_MOST - 1 && byte > 1) ||
        (at > 0 && byte == 0))
        return PATCH_WRONG;
    *number |= bits << 7 * at;
    return bits == byte ? PATCH_TAKEN : PATCH_MORE;
}

/* Reads a number in memory. Returns its size, or 0 if it is not valid. */
static size_t read_number(const uint8_t *from, const uint8_t *end, uint64_t *number)
{
    *number = 0;
    for (unsigned at = 0; from + at < end; at++) {
        const enum patch_taken taken = patch_take_number(number, at, from[at]);
        if (taken != PATCH_MORE)
            return taken == PATCH_TAKEN ? at + 1 : 0;
    }
    return 0;
}

/* ---- head */

static void put_name(uint8_t *at, const struct patch_name *name)
{
    put32(at, name->header);
    put32(at + 4, name->body);
}

static struct patch_name get_name(const uint8_t *at)
{
    return (struct patch_name){ get32(at), get32(at + 4) };
}

bool patch_begins(const uint8_t bytes[PATCH_MAGIC])
{
    return memcmp(bytes, magic, sizeof magic) == 0;
}

int patch_decode_start(const uint8_t bytes[PATCH_START], struct patch_head *head)
{
    if (!patch_begins(bytes))
        return BLOOMFILE_EPATCH;
    if (bytes[PATCH_AT_VERSION] != PATCH_VERSION)
        return BLOOMFILE_EVERSION;
    head->features = bytes[PATCH_AT_FEATURES];
    if ((head->features & ~(PATCH_OF_LAYER | PATCH_FOLLOWED)) != 0)
        return BLOOMFILE_EFEATURE;
    head->layout = bytes[PATCH_AT_LAYOUT];
    if (!layout_known(head->layout) || layout_of(head->layout)->solved)
        return BLOOMFILE_ELAYOUT;
    if (head->features == PATCH_FOLLOWED)
        return BLOOMFILE_EPATCH;
    head->base = get_name(bytes + PATCH_AT_BASE);
    head->result = get_name(bytes + PATCH_AT_RESULT);
    return 0;
}

size_t patch_encode_head(const struct patch_head *head, uint8_t *bytes)
{
    memcpy(bytes, magic, sizeof magic);
    bytes[PATCH_AT_VERSION] = PATCH_VERSION;
    bytes[PATCH_AT_FEATURES] = (uint8_t)head->features;
    bytes[PATCH_AT_LAYOUT] = (uint8_t)head->layout;
    put_name(bytes + PATCH_AT_BASE, &head->base);
    put_name(bytes + PATCH_AT_RESULT, &head->result);
    size_t size = PATCH_START;
    size += patch_put_number(bytes + size, head->body_size);
    size += patch_put_number(bytes + size, head->edits_size);
    memcpy(bytes + size, head->edits, head->edits_size);
    size += head->edits_size;
    put32(bytes + size, checksum(bytes, size));
    return size + 4;
}

uint32_t patch_name_header(const uint8_t *header, uint32_t size)
{
    uint8_t checksums[3 * 4];
    memcpy(checksums, header + size / 2 - 4, 4);
    memcpy(checksums + 4, header + 3 * size / 4 - 4, 4);
    memcpy(checksums + 8, header + size - 4, 4);
    return checksum(checksums, sizeof checksums);
}

/* ---- edits */

static uint8_t *record_of(uint8_t *header, uint32_t size, unsigned slot)
{
    return header + size / 2 + slot * (size / 4);
}

static void xor_second_record(uint8_t *header, uint32_t size)
{
    uint8_t *first = record_of(header, size, 0), *second = record_of(header, size, 1);
    for (uint32_t i = 0; i < size / 4; i++)
        second[i] ^= first[i];
}

static void xor_body_crc(uint8_t *record, uint32_t body_crc)
{
    put32(record + RECORD_AT_body_crc, get32(record + RECORD_AT_body_crc) ^ body_crc);
}

/* Clears the checksums, and the parts of the second record that equal the first. */
static void reduce(uint8_t *header, uint32_t size, uint32_t body_crc)
{
    put32(header + size / 2 - 4, 0);
    for (unsigned slot = 0; slot < 2; slot++) {
        uint8_t *record = record_of(header, size, slot);
        xor_body_crc(record, body_crc);
        put32(record + RECORD_AT_header_crc, 0);
        put32(record + size / 4 - 4, 0);
    }
    xor_second_record(header, size);
}

static void restore(uint8_t *header, uint32_t size, uint32_t body_crc)
{
    xor_second_record(header, size);
    const uint32_t crc = checksum(header, size / 2 - 4);
    put32(header + size / 2 - 4, crc);
    for (unsigned slot = 0; slot < 2; slot++) {
        uint8_t *record = record_of(header, size, slot);
        xor_body_crc(record, body_crc);
        put32(record + RECORD_AT_header_crc, crc);
        put32(record + size / 4 - 4, checksum(record, size / 4 - 4));
    }
}

/* Returns the offset of the next byte, from `at` on, that differs; or `size`. */
static uint32_t next_different(const uint8_t *a, const uint8_t *b, uint32_t at, uint32_t size)
{
    while (at < size && a[at] == b[at])
        at++;
    return at;
}

/* Returns the end of the edit that begins at `at`. */
static uint32_t end_of_edit(const uint8_t *a, const uint8_t *b, uint32_t at, uint32_t size)
{
    uint32_t end = at;
    for (uint32_t next = at; next < size && next - end < LEAST_EQUAL;) {
        end = next + 1;
        next = next_different(a, b, end, size);
    }
    return end;
}

void patch_make_edits(struct patch_head *head, const uint8_t *base, const uint8_t *result,
                      uint32_t size)
{
    uint8_t from[GEOMETRY_FILE_HEADER], to[GEOMETRY_FILE_HEADER], *put = head->edits;
    memcpy(from, base, size);
    memcpy(to, result, size);
    reduce(from, size, head->base.body);
    reduce(to, size, head->result.body);
    for (uint32_t at = 0, begin; (begin = next_different(from, to, at, size)) < size;) {
        const uint32_t end = end_of_edit(from, to, begin, size);
        put += patch_put_number(put, begin - at);
        put += patch_put_number(put, end - begin);
        memcpy(put, to + begin, end - begin);
        put += end - begin;
        at = end;
    }
    head->edits_size = (size_t)(put - head->edits);
}

static bool edit(uint8_t *header, uint32_t size, const uint8_t *edits, size_t edits_size)
{
    const uint8_t *end = edits + edits_size;
    for (uint64_t at = 0; edits < end;) {
        uint64_t equal, different;
        const size_t first = read_number(edits, end, &equal);
        const size_t second = first > 0 ? read_number(edits + first, end, &different) : 0;
        if (second == 0)
            return false;
        edits += first + second;
        if (equal > size - at || different > size - at - equal ||
            different > (uint64_t)(end - edits))
            return false;
        memcpy(header + at + equal, edits, (size_t)different);
        edits += different;
        at += equal + different;
    }
    return true;
}

int patch_apply_edits(const struct patch_head *head, const uint8_t *base, uint8_t *result,
                      uint32_t size)
{
    memcpy(result, base, size);
    reduce(result, size, head->base.body);
    if (!edit(result, size, head->edits, head->edits_size))
        return BLOOMFILE_EPATCH;
    restore(result, size, head->result.body);
    return patch_name_header(result, size) == head->result.header ? 0 : BLOOMFILE_EPATCH;
}
