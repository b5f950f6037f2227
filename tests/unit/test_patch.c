/* SPDX-License-Identifier: MIT
 * The head of a patch and its edits (doc/format/patches.md 1, 2 and 5). Invalid bytes are
 * refused, and nothing is read or written beyond the head. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/header.h"
#include "format/patch.h"

/* ---- numbers */

TEST(numbers_take_the_fewest_bytes)
{
    static const struct {
        uint64_t number;
        size_t size;
    } rows[] = { { 0, 1 },           { 1, 1 },          { 127, 1 },
                 { 128, 2 },         { 129, 2 },        { (1 << 14) - 1, 2 },
                 { 1 << 14, 3 },     { UINT32_MAX, 5 }, { INT64_MAX, 9 },
                 { 1ULL << 63, 10 }, { UINT64_MAX, 10 } };
    for (size_t i = 0; i < ROWS(rows); i++) {
        uint8_t bytes[PATCH_NUMBER_MOST + 1];
        memset(bytes, 0xEE, sizeof bytes);
        assert_int_equal(patch_put_number(bytes, rows[i].number), rows[i].size);
        assert_int_equal(bytes[rows[i].size], 0xEE);
        uint64_t number = 0;
        for (unsigned at = 0; at < rows[i].size; at++)
            assert_int_equal(patch_take_number(&number, at, bytes[at]),
                             at + 1 < rows[i].size ? PATCH_MORE : PATCH_TAKEN);
        assert_int_equal(number, rows[i].number);
    }
}

TEST(number_with_redundant_bytes_is_refused)
{
    uint64_t number = 0;
    assert_int_equal(patch_take_number(&number, 1, 0), PATCH_WRONG);
    assert_int_equal(patch_take_number(&number, 9, 0), PATCH_WRONG);
    assert_int_equal(patch_take_number(&number, 9, 2), PATCH_WRONG);
    assert_int_equal(patch_take_number(&number, 9, 0x81), PATCH_WRONG);
    assert_int_equal(patch_take_number(&number, 10, 1), PATCH_WRONG);
    assert_int_equal(number, 0);
    assert_int_equal(patch_take_number(&number, 8, 2), PATCH_TAKEN);
    assert_int_equal(number, 2ULL << 56);
}

/* ---- the first bytes */

TEST(each_byte_of_the_start_is_checked_against_its_rule)
{
    static const struct {
        unsigned at;
        uint8_t byte;
        int error;
    } rows[] = {
        { 0, 0xBE, BLOOMFILE_EPATCH },
        { 7, '\r', BLOOMFILE_EPATCH },
        { 8, 0, BLOOMFILE_EVERSION },
        { 8, 2, BLOOMFILE_EVERSION },
        { 9, 0, 0 },
        { 9, PATCH_OF_LAYER, 0 },
        { 9, PATCH_FOLLOWED, BLOOMFILE_EPATCH },
        { 9, PATCH_OF_LAYER | PATCH_FOLLOWED, 0 },
        { 9, 4, BLOOMFILE_EFEATURE },
        { 9, 0x80, BLOOMFILE_EFEATURE },
        { 10, 0, BLOOMFILE_ELAYOUT },
        { 10, BLOOMFILE_LAYOUT_COUNTING, 0 },
        { 10, 5, BLOOMFILE_ELAYOUT },
        { 10, BLOOMFILE_LAYOUT_RIBBON, BLOOMFILE_ELAYOUT },
    };
    struct patch_head head = { .layout = BLOOMFILE_LAYOUT_CLASSIC,
                               .base = { 0x01020304, 0x05060708 },
                               .result = { 0x11121314, 0x15161718 } };
    uint8_t whole[PATCH_HEAD_MOST];
    assert_int_equal(patch_encode_head(&head, whole), PATCH_START + 2 + 4);
    for (size_t i = 0; i < ROWS(rows); i++) {
        uint8_t bytes[PATCH_START];
        memcpy(bytes, whole, sizeof bytes);
        bytes[rows[i].at] = rows[i].byte;
        struct patch_head got = { 0 };
        assert_error(patch_decode_start(bytes, &got), rows[i].error);
        if (rows[i].error != 0)
            continue;
        assert_int_equal(got.features, bytes[9]);
        assert_int_equal(got.layout, bytes[10]);
        assert_memory_equal(&got.base, &head.base, sizeof head.base);
        assert_memory_equal(&got.result, &head.result, sizeof head.result);
    }
}

/* ---- edits */

enum {
    GUARD = 64
};

struct pair {
    struct bytes base, result;
    struct patch_head head;
};

static struct patch_name name_of(uint8_t *image, uint32_t size)
{
    return (struct patch_name){ patch_name_header(image, size),
                                get32(record_at(image, 0) + RECORD_AT_body_crc) };
}

/* Headers that differ in single bytes and in neighbouring bytes. */
static struct pair pair_of(uint32_t header_size)
{
    const struct recipe recipe = { BLOOMFILE_LAYOUT_BLOCKED, header_size, 1024, 6, 5, 0 };
    struct recipe other = recipe;
    other.keys = 9;
    struct pair p = { .base = image_from(recipe), .result = image_from(other) };
    memcpy(p.result.data + AT_label, "another", 7);
    p.result.data[AT_tag] = p.result.data[AT_tag + 2] = p.result.data[AT_tag + 6] = 1;
    reseal_header(p.result.data);
    p.head.base = name_of(p.base.data, header_size);
    p.head.result = name_of(p.result.data, header_size);
    patch_make_edits(&p.head, p.base.data, p.result.data, header_size);
    return p;
}

static void free_pair(struct pair p)
{
    free(p.base.data);
    free(p.result.data);
}

/* Applies the edits; asserts that no byte after the header is written. */
static int apply(const struct pair *p, uint32_t header_size, uint8_t *header)
{
    uint8_t guard[GUARD];
    memset(guard, 0xEE, sizeof guard);
    memcpy(header + header_size, guard, sizeof guard);
    const int error = patch_apply_edits(&p->head, p->base.data, header, header_size);
    assert_memory_equal(header + header_size, guard, sizeof guard);
    return error;
}

static const uint32_t header_sizes[] = { EMBEDDED, IN_FILE };

TEST(edits_turn_one_header_into_the_other)
{
    for (size_t i = 0; i < ROWS(header_sizes); i++) {
        const uint32_t size = header_sizes[i];
        const struct pair p = pair_of(size);
        uint8_t header[IN_FILE + GUARD];
        assert_error(apply(&p, size, header), 0);
        assert_memory_equal(header, p.result.data, size);
        free_pair(p);
    }
}

/* A new edit costs two bytes, so up to two equal bytes become part of an edit. */
TEST(edits_take_the_fewest_bytes)
{
    struct bytes base =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 1024, 6, 5, 0 });
    uint8_t result[IN_FILE];
    memcpy(result, base.data, sizeof result);
    result[AT_tag] = result[AT_tag + 3] = result[AT_tag + 7] = 1;
    reseal_header(result);
    struct patch_head head = { .base = name_of(base.data, IN_FILE),
                               .result = name_of(result, IN_FILE) };
    patch_make_edits(&head, base.data, result, IN_FILE);
    static const uint8_t edits[] = { AT_tag, 4, 1, 0, 0, 1, 3, 1, 1 };
    assert_int_equal(head.edits_size, sizeof edits);
    assert_memory_equal(head.edits, edits, sizeof edits);
    free(base.data);
}

/* Its exclusive or with the first record is zero up to the checksum. */
TEST(second_record_with_the_changes_of_the_first_needs_no_edit)
{
    for (size_t i = 0; i < ROWS(header_sizes); i++) {
        const uint32_t size = header_sizes[i], last = size / 4 - 5;
        struct bytes base =
            image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, size, 1024, 6, 5, 0 });
        uint8_t result[IN_FILE], edits[PATCH_NUMBER_MOST + 2];
        memcpy(result, base.data, size);
        record_at(result, 0)[last] = record_at(result, 1)[last] = 0x55;
        reseal_header(result);
        struct patch_head head = { .base = name_of(base.data, size),
                                   .result = name_of(result, size) };
        patch_make_edits(&head, base.data, result, size);
        const size_t number = patch_put_number(edits, size / 2 + last);
        memcpy(edits + number, (uint8_t[]){ 1, 0x55 }, 2);
        assert_int_equal(head.edits_size, number + 2);
        assert_memory_equal(head.edits, edits, number + 2);
        free(base.data);
    }
}

TEST(an_edit_may_be_empty)
{
    struct pair p = pair_of(EMBEDDED);
    uint8_t header[IN_FILE + GUARD], edits[PATCH_EDITS_MOST];
    memcpy(edits, p.head.edits, p.head.edits_size);
    p.head.edits[0] = p.head.edits[1] = 0;
    memcpy(p.head.edits + 2, edits, p.head.edits_size);
    p.head.edits_size += 2;
    assert_error(apply(&p, EMBEDDED, header), 0);
    assert_memory_equal(header, p.result.data, EMBEDDED);
    free_pair(p);
}

TEST(an_edit_may_be_empty_at_the_end)
{
    struct pair p = pair_of(EMBEDDED);
    uint8_t header[IN_FILE + GUARD];
    memcpy(p.result.data, p.base.data, EMBEDDED);
    p.head.result = p.head.base;
    const size_t size = patch_put_number(p.head.edits, EMBEDDED);
    p.head.edits[size] = 0;
    p.head.edits_size = size + 1;
    assert_error(apply(&p, EMBEDDED, header), 0);
    free_pair(p);
}

/* The bytes after them would complete them. */
TEST(truncated_edits_are_refused)
{
    struct pair p = pair_of(EMBEDDED);
    uint8_t header[IN_FILE + GUARD];
    while (p.head.edits_size > 0) {
        p.head.edits_size--;
        assert_error(apply(&p, EMBEDDED, header), BLOOMFILE_EPATCH);
    }
    free_pair(p);
}

TEST(truncated_size_is_refused)
{
    enum {
        LONG = 128 /* its size takes two bytes */
    };
    const struct recipe recipe = { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 1024, 6, 5, 0 };
    struct pair p = { .base = image_from(recipe), .result = image_from(recipe) };
    uint8_t header[IN_FILE + GUARD];
    memset(p.result.data + AT_tag, 0x55, LONG);
    reseal_header(p.result.data);
    p.head.base = name_of(p.base.data, EMBEDDED);
    p.head.result = name_of(p.result.data, EMBEDDED);
    patch_make_edits(&p.head, p.base.data, p.result.data, EMBEDDED);
    assert_int_equal(p.head.edits_size, 1 + 2 + LONG);
    assert_error(apply(&p, EMBEDDED, header), 0);
    p.head.edits_size = 2;
    assert_error(apply(&p, EMBEDDED, header), BLOOMFILE_EPATCH);
    free_pair(p);
}

TEST(bytes_after_the_last_edit_are_refused)
{
    static const uint8_t rests[][2] = { { 0x80 }, { 0 }, { 0, 0x80 }, { 0x80, 0 } };
    static const size_t sizes[] = { 1, 1, 2, 2 };
    for (size_t i = 0; i < ROWS(sizes); i++) {
        struct pair p = pair_of(EMBEDDED);
        uint8_t header[IN_FILE + GUARD];
        memcpy(p.head.edits + p.head.edits_size, rests[i], sizes[i]);
        p.head.edits_size += sizes[i];
        assert_error(apply(&p, EMBEDDED, header), BLOOMFILE_EPATCH);
        free_pair(p);
    }
}

/* All needed edits are there, so the header is the same. */
TEST(invalid_bytes_after_the_last_edit_are_refused)
{
    static const struct {
        size_t size;
        uint8_t bytes[4];
    } rows[] = {
        { 3, { 0x80, 0, 0 } },          /* 0 in two bytes, */
        { 3, { 0, 0x80, 0 } },          /* the second number in two bytes, */
        { 3, { 0, 1, 0x80 } },          /* a byte beyond the header, */
        { 4, { 0xFF, 0x7F, 1, 0x80 } }, /* or far beyond it */
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct pair p = pair_of(EMBEDDED);
        uint8_t header[IN_FILE + GUARD], *put = p.head.edits + p.head.edits_size;
        put += patch_put_number(put, 0);
        put += patch_put_number(put, 0);
        p.head.edits_size = (size_t)(put - p.head.edits);
        assert_error(apply(&p, EMBEDDED, header), 0);
        memcpy(put, rows[i].bytes, rows[i].size);
        p.head.edits_size += rows[i].size;
        assert_error(apply(&p, EMBEDDED, header), BLOOMFILE_EPATCH);
        free_pair(p);
    }
}

/* patches.md 1: the CRC-32 of three checksums: the last 4 bytes of the static part and of each
 * record. */
TEST(header_is_identified_by_its_three_checksums)
{
    for (size_t i = 0; i < ROWS(header_sizes); i++) {
        const uint32_t size = header_sizes[i];
        uint8_t header[IN_FILE] = { 0 };
        memcpy(header + size / 2 - 4, "abcd", 4);
        memcpy(header + 3 * size / 4 - 4, "efgh", 4);
        memcpy(header + size - 4, "ijkl", 4);
        assert_int_equal(patch_name_header(header, size),
                         checksum((const uint8_t *)"abcdefghijkl", 12));
    }
}

TEST(edits_beyond_the_header_are_refused)
{
    static const struct {
        uint64_t equal, different; /* of the second edit; the first edit changes byte 10 */
    } rows[] = {
        { EMBEDDED - 11, 1 }, { EMBEDDED - 12, 2 },   { EMBEDDED - 5, 1 },
        { EMBEDDED + 5, 1 },  { UINT64_MAX - 10, 1 }, { UINT64_MAX, 1 },
        { 0, EMBEDDED - 10 }, { 0, UINT64_MAX },      { EMBEDDED - 11, UINT64_MAX },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct pair p = pair_of(EMBEDDED);
        uint8_t header[IN_FILE + GUARD], *put = p.head.edits;
        put += patch_put_number(put, 10);
        put += patch_put_number(put, 1);
        *put++ = 0x55;
        put += patch_put_number(put, rows[i].equal);
        put += patch_put_number(put, rows[i].different);
        memset(put, 0x55, EMBEDDED);
        p.head.edits_size = (size_t)(put - p.head.edits) + EMBEDDED;
        assert_error(apply(&p, EMBEDDED, header), BLOOMFILE_EPATCH);
        free_pair(p);
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
