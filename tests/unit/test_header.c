/* SPDX-License-Identifier: MIT
 * Validity rules V1 to V18, V26 and V27 of format-spec.md, section 13: which values are refused,
 * with which error and field, and that their neighbours are accepted. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/decode.h"
#include "format/hash.h"
#include "format/header.h"

static const struct recipe recipes[] = {
    { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 100, 3, 5, 0 },
    { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 1024, 6, 5, 7 },
    { BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 99, 4, 5, 0 },
    { BLOOMFILE_LAYOUT_CLASSIC, IN_FILE, 100, 3, 5, 7 },
    { BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 1024, 6, 5, 0 },
    { BLOOMFILE_LAYOUT_COUNTING, IN_FILE, 99, 4, 5, 7 },
};

/* ---- V1 to V6: before the fields can be trusted */

static const struct bytes nothing = { NULL, 0 };

TEST(an_empty_image_is_refused)
{
    assert_verdict("V1", nothing, BLOOMFILE_EEMPTY, "size", 0);
}

TEST(wrong_magic_is_refused)
{
    static char text[] = "This is not a filter file.";
    assert_verdict("V2", (struct bytes){ (uint8_t *)text, sizeof text }, BLOOMFILE_EMAGIC, "magic",
                   0);
    assert_verdict("V2", (struct bytes){ (uint8_t *)text, 1 }, BLOOMFILE_EMAGIC, "magic", 0);
    struct bytes image = image_from(recipes[0]);
    for (unsigned i = 0; i < 8; i++) {
        image.data[i] ^= 0x44;
        assert_verdict("V2", image, BLOOMFILE_EMAGIC, "magic", 0);
        image.data[i] ^= 0x44;
    }
    free(image.data);
}

TEST(text_mode_damage_is_detected_from_six_bytes_on)
{
    static const struct {
        uint8_t size, bytes[10];
    } damaged[] = {
        { 7, { 0xBF, 0x42, 0x4C, 0x4D, 0x0A, 0x1A, 0x0A } },
        { 10, { 0xBF, 0x42, 0x4C, 0x4D, 0x0D, 0x0D, 0x0A, 0x1A, 0x0D, 0x0A } },
        { 9, { 0xBF, 0x42, 0x4C, 0x4D, 0x0D, 0x0A, 0x1A, 0x0D, 0x0A } },
        { 8, { 0xBF, 0x42, 0x4C, 0x4D, 0x0D, 0x0D, 0x1A, 0x0D } },
        { 8, { 0xBF, 0x42, 0x4C, 0x4D, 0x0A, 0x0A, 0x1A, 0x0A } },
        { 8, { 0x3F, 0x42, 0x4C, 0x4D, 0x0D, 0x0A, 0x1A, 0x0A } },
    };
    static const uint8_t whole[] = { 0xBF, 0x42, 0x4C, 0x4D, 0x0D, 0x0A, 0x1A, 0x0A };
    for (size_t i = 0; i < ROWS(damaged); i++) {
        struct bytes image = image_from(recipes[0]);
        memcpy(image.data, damaged[i].bytes, damaged[i].size);
        assert_verdict("V2", image, BLOOMFILE_ETEXTMODE, "magic", 0);
        image.data[damaged[i].size - 1] ^= 0x44;
        assert_verdict("V2", image, BLOOMFILE_EMAGIC, "magic", 0);
        image.data[damaged[i].size - 1] ^= 0x44;
        for (image.size = 1; image.size <= damaged[i].size; image.size++) {
            size_t compared = image.size < sizeof whole ? image.size : sizeof whole;
            if (memcmp(image.data, whole, compared) == 0)
                assert_verdict("V3", image, BLOOMFILE_ETRUNCATED, "size", image.size);
            else
                assert_verdict("V2", image, image.size < 6 ? BLOOMFILE_EMAGIC : BLOOMFILE_ETEXTMODE,
                               "magic", 0);
        }
        free(image.data);
    }
}

TEST(truncated_header_is_refused_at_every_length)
{
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(recipes[r]);
        for (image.size = 1; image.size < recipes[r].header_size; image.size++)
            assert_verdict("V3, V5", image, BLOOMFILE_ETRUNCATED, "size", image.size);
        free(image.data);
    }
}

TEST(fewer_than_16_bytes_are_truncated_whatever_their_values)
{
    struct bytes image = image_from(recipes[0]);
    memset(image.data + AT_version, 0xFF, 8);
    for (image.size = 1; image.size < 16; image.size++)
        assert_verdict("V3", image, BLOOMFILE_ETRUNCATED, "size", image.size);
    assert_verdict("V4", image, BLOOMFILE_EFORM, "header_size", AT_header_size);
    free(image.data);
}

TEST(fields_beyond_a_truncated_header_decode_as_zero)
{
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(recipes[r]);
        memset(image.data + AT_tag, 0xFF, EMBEDDED / 2 - AT_tag);
        for (size_t size = 16; size < EMBEDDED / 2; size++) {
            uint8_t padded[EMBEDDED] = { 0 };
            memcpy(padded, image.data, size);
            struct header cut, expected;
            struct header_faults faults = { 0 };
            memset(&expected, 0, sizeof expected);
            header_read_static(padded, &expected);
            decode_header(image.data, size, &cut, &faults);
            assert_memory_equal(&cut, &expected, sizeof cut);
        }
        free(image.data);
    }
}

TEST(a_header_size_other_than_512_and_4096_is_refused)
{
    static const uint32_t sizes[] = {
        0, 1, 256, 511, 513, 1024, 4095, 4097, 0x80000000, UINT32_MAX
    };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(recipes[r]);
        for (size_t i = 0; i < ROWS(sizes); i++) {
            put32(image.data + AT_header_size, sizes[i]);
            assert_verdict("V4", image, BLOOMFILE_EFORM, "header_size", AT_header_size);
            struct bloomfile_info info = BLOOMFILE_INFO_INIT;
            bloomfile_inspect(image.data, image.size, &info, NULL, NULL);
            assert_int_equal(info.header_size, sizes[i]);
            assert_int_equal(info.image_size | info.pages, 0);
        }
        free(image.data);
    }
}

TEST(a_header_with_a_wrong_checksum_is_refused)
{
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(recipes[r]);
        uint32_t half = recipes[r].header_size / 2;
        image.data[AT_label] ^= 'A';
        assert_verdict("V6", image, BLOOMFILE_EHEADER, "header_crc", half - 4);
        reseal_header(image.data);
        assert_verdict("V6", image, 0, NULL, 0);
        image.data[half - 1] ^= 1;
        assert_verdict("V6", image, BLOOMFILE_EHEADER, "header_crc", half - 4);
        image.data[AT_version] = 2;
        assert_verdict("V6, V7", image, BLOOMFILE_EHEADER, "header_crc", half - 4);
        free(image.data);
    }
}

/* ---- V7 to V17: one field at a time, with correct checksums */

static const struct row {
    const char *what;
    unsigned layouts; /* the recipes to test, a bit each; 0: all */
    int error;        /* 0: valid */
    const char *field;
    unsigned at;
    struct {
        unsigned at, size;
        uint64_t value;
    } changes[2];
} rows[] = {
#define BLOCKED              1u << BLOOMFILE_LAYOUT_BLOCKED
#define SCATTERED            1u << BLOOMFILE_LAYOUT_CLASSIC | 1u << BLOOMFILE_LAYOUT_COUNTING
#define VALID                0, NULL, 0
#define REFUSED(error, name) BLOOMFILE_##error, #name, AT_##name
#define SET(name, value)                                                                           \
    {                                                                                              \
        AT_##name, sizeof((struct header *)0)->name, (value)                                       \
    }
#define P60 (1ULL << 60)
    { "V7 0", 0, REFUSED(EVERSION, version), { SET(version, 0) } },
    { "V7 2", 0, REFUSED(EVERSION, version), { SET(version, 2) } },
    { "V7 2^31", 0, REFUSED(EVERSION, version), { SET(version, 1u << 31) } },
    { "V8 bit 2", 0, REFUSED(EFEATURE, incompat), { SET(incompat, 4) } },
    { "V8 bit 31", 0, REFUSED(EFEATURE, incompat), { SET(incompat, 1u << 31) } },
    { "V9 0", 0, REFUSED(ELAYOUT, layout), { SET(layout, 0) } },
    { "V9 5", 0, REFUSED(ELAYOUT, layout), { SET(layout, 5) } },
    { "V9 2^32-1", 0, REFUSED(ELAYOUT, layout), { SET(layout, UINT32_MAX) } },
    { "V10 0", 0, REFUSED(EHASH, hash_id), { SET(hash_id, 0) } },
    { "V10 2", 0, REFUSED(EHASH, hash_id), { SET(hash_id, 2) } },
    { "V11 0", 0, REFUSED(ESELFTEST, self_test), { SET(self_test, 0) } },
    { "V11 another seed", 0, REFUSED(ESELFTEST, self_test), { SET(seed, 1) } },
    { "V12 0", 0, REFUSED(EHASHCOUNT, k), { SET(k, 0) } },
    { "V12 1", 0, VALID, { SET(k, 1) } },
    { "V12 64", 0, VALID, { SET(k, 64) } },
    { "V12 65", 0, REFUSED(EHASHCOUNT, k), { SET(k, 65) } },
    { "V12 257", 0, REFUSED(EHASHCOUNT, k), { SET(k, 257) } },
    { "V12 65537", 0, REFUSED(EHASHCOUNT, k), { SET(k, 65537) } },
    { "V12 2^31", 0, REFUSED(EHASHCOUNT, k), { SET(k, 1u << 31) } },
    { "V12 2^32-1", 0, REFUSED(EHASHCOUNT, k), { SET(k, UINT32_MAX) } },
    { "V13 0", 0, REFUSED(EBITS, m), { SET(m, 0) } },
    { "V13 2^60+1", 0, REFUSED(EBITS, m), { SET(m, P60 + 1) } },
    { "V13 2^60+512", 0, REFUSED(EBITS, m), { SET(m, P60 + 512) } },
    { "V13 2^63", 0, REFUSED(EBITS, m), { SET(m, 1ULL << 63) } },
    { "V13 2^64-512", 0, REFUSED(EBITS, m), { SET(m, UINT64_MAX - 511) } },
    { "V13 2^64-1", 0, REFUSED(EBITS, m), { SET(m, UINT64_MAX) } },
    { "V13 1, blocked", BLOCKED, REFUSED(EBITS, m), { SET(m, 1) } },
    { "V13 511, blocked", BLOCKED, REFUSED(EBITS, m), { SET(m, 511) } },
    { "V13 513, blocked", BLOCKED, REFUSED(EBITS, m), { SET(m, 513) } },
    { "V13 1280, blocked", BLOCKED, REFUSED(EBITS, m), { SET(m, 1280) } },
    { "V14 m needs more", 0, REFUSED(EOFFSET, body_size), { SET(m, 131072) } },
    { "V14 m 2^60", 0, REFUSED(EOFFSET, body_size), { SET(m, P60) } },
    { "V14 0", 0, REFUSED(EOFFSET, body_offset), { SET(body_offset, 0) } },
    { "V14 513", 0, REFUSED(EOFFSET, body_offset), { SET(body_offset, 513) } },
    { "V14 2^32+512", 0, REFUSED(EOFFSET, body_offset), { SET(body_offset, 0x100000200) } },
    { "V14 2^64-64", 0, REFUSED(EOFFSET, body_offset), { SET(body_offset, UINT64_MAX - 63) } },
    { "V14 size 0", 0, REFUSED(EOFFSET, body_size), { SET(body_size, 0) } },
    { "V14 size 63", 0, REFUSED(EOFFSET, body_size), { SET(body_size, 63) } },
    { "V14 size 8192", 0, REFUSED(EOFFSET, body_size), { SET(body_size, 8192) } },
    { "V14 sum is 0", 0, REFUSED(EOFFSET, body_size), { SET(body_size, UINT64_MAX - 511) } },
    { "V15 0", 0, REFUSED(ECAPACITY, capacity), { SET(capacity, 0) } },
    { "V15 1", 0, VALID, { SET(capacity, 1) } },
    { "V15 2^60", 0, VALID, { SET(capacity, P60) } },
    { "V15 2^60+1", 0, REFUSED(ECAPACITY, capacity), { SET(capacity, P60 + 1) } },
    { "V15 2^64-1", 0, REFUSED(ECAPACITY, capacity), { SET(capacity, UINT64_MAX) } },
    { "V16 +0", 0, VALID, { SET(fpr, 0) } },
    { "V16 least subnormal", 0, VALID, { SET(fpr, 1) } },
    { "V16 last below 1", 0, VALID, { SET(fpr, 0x3FEFFFFFFFFFFFFF) } },
    { "V16 1", 0, REFUSED(ERATE, fpr), { SET(fpr, 0x3FF0000000000000) } },
    { "V16 infinite", 0, REFUSED(ERATE, fpr), { SET(fpr, 0x7FF0000000000000) } },
    { "V16 nan", 0, REFUSED(ERATE, fpr), { SET(fpr, 0x7FF8000000000000) } },
    { "V16 -0", 0, REFUSED(ERATE, fpr), { SET(fpr, 0x8000000000000000) } },
    { "V16 -1", 0, REFUSED(ERATE, fpr), { SET(fpr, 0xBFF0000000000000) } },
    { "V16 -nan", 0, REFUSED(ERATE, fpr), { SET(fpr, UINT64_MAX) } },
    { "V17 0", 0, REFUSED(EUNFOLDED, m_unfolded), { SET(m_unfolded, 0) } },
    { "V17 98", SCATTERED, REFUSED(EUNFOLDED, m_unfolded), { SET(m_unfolded, 98) } },
    { "V17 512", BLOCKED, REFUSED(EUNFOLDED, m_unfolded), { SET(m_unfolded, 512) } },
    { "V17 no multiple", 0, REFUSED(EUNFOLDED, m_unfolded), { SET(m_unfolded, 1025) } },
    { "V17 a multiple", 0, VALID, { SET(m_unfolded, 99 * 100 * 1024) } },
    { "V17 2^60", BLOCKED, VALID, { SET(m_unfolded, P60) } },
    { "V17 2^60+1024", BLOCKED, REFUSED(EUNFOLDED, m_unfolded), { SET(m_unfolded, P60 + 1024) } },
    { "unknown compat", 0, VALID, { SET(compat, UINT32_MAX) } },
    { "unknown ro_compat", 0, VALID, { SET(ro_compat, UINT32_MAX) } },
    { "unknown provenance", 0, VALID, { SET(provenance, UINT32_MAX) } },
    { "reserved bytes", 0, VALID, { SET(key_kind, UINT32_MAX), { 240, 8, UINT64_MAX } } },
    { "V7, V8", 0, REFUSED(EVERSION, version), { SET(version, 2), SET(incompat, 1) } },
    { "V8, V9", 0, REFUSED(EFEATURE, incompat), { SET(incompat, 4), SET(layout, 9) } },
    { "V9, V10", 0, REFUSED(ELAYOUT, layout), { SET(layout, 9), SET(hash_id, 9) } },
    { "V10, V11", 0, REFUSED(EHASH, hash_id), { SET(hash_id, 9), SET(self_test, 9) } },
    { "V11, V12", 0, REFUSED(ESELFTEST, self_test), { SET(self_test, 9), SET(k, 0) } },
    { "V12, V13", 0, REFUSED(EHASHCOUNT, k), { SET(k, 0), SET(m, 0) } },
    { "V13, V14", 0, REFUSED(EBITS, m), { SET(m, 0), SET(body_size, 0) } },
    { "V14, V15", 0, REFUSED(EOFFSET, body_size), { SET(body_size, 0), SET(capacity, 0) } },
    { "V15, V16", 0, REFUSED(ECAPACITY, capacity), { SET(capacity, 0), SET(fpr, UINT64_MAX) } },
    { "V16, V17", 0, REFUSED(ERATE, fpr), { SET(fpr, UINT64_MAX), SET(m_unfolded, 0) } },
    { "V17, V18", 0, REFUSED(EUNFOLDED, m_unfolded), { SET(m_unfolded, 0), { AT_label, 4, 1 } } },
};

TEST(each_field_is_checked_against_its_rule)
{
    for (size_t i = 0; i < ROWS(rows); i++) {
        const struct row *row = &rows[i];
        unsigned tried = 0;
        for (size_t r = 0; r < ROWS(recipes); r++) {
            if (row->layouts != 0 && (row->layouts >> recipes[r].layout & 1) == 0)
                continue;
            struct bytes image = image_from(recipes[r]);
            for (size_t c = 0; c < ROWS(row->changes); c++)
                if (row->changes[c].size == 4)
                    put32(image.data + row->changes[c].at, (uint32_t)row->changes[c].value);
                else if (row->changes[c].size == 8)
                    put64(image.data + row->changes[c].at, row->changes[c].value);
            reseal_header(image.data);
            assert_verdict(row->what, image, row->error, row->field, row->at);
            free(image.data);
            tried++;
        }
        assert_in_range(tried, 2, ROWS(recipes));
    }
}

/* V17: a layout whose pages are solved cannot be folded. */
TEST(folded_ribbon_header_is_refused)
{
    static const struct recipe ribbon = { BLOOMFILE_LAYOUT_RIBBON, EMBEDDED, 512 * 8, 0, 5, 0 };
    struct bytes image = image_from(ribbon);
    assert_verdict("V17 of a ribbon", image, 0, NULL, 0);
    for (uint64_t times = 2; times < 5; times++) {
        put64(image.data + AT_m_unfolded, ribbon.m * times);
        reseal_header(image.data);
        assert_verdict("V17 of a ribbon", image, BLOOMFILE_EUNFOLDED, "m_unfolded", AT_m_unfolded);
    }
    free(image.data);
}

/* V17: 2^60 + 1 is a multiple of 17. */
TEST(unfolded_size_above_the_maximum_is_refused)
{
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 17, 3, 1, 0 });
    put64(image.data + AT_m_unfolded, P60 + 1 - 17);
    reseal_header(image.data);
    assert_verdict("V17 2^60-16", image, 0, NULL, 0);
    put64(image.data + AT_m_unfolded, P60 + 1);
    reseal_header(image.data);
    assert_verdict("V17 2^60+1", image, BLOOMFILE_EUNFOLDED, "m_unfolded", AT_m_unfolded);
    free(image.data);
}

TEST(overflow_count_in_an_unknown_layout_is_one_fault)
{
    struct bytes image = image_from(recipes[2]);
    put32(image.data + AT_layout, 1u << 30);
    for (unsigned slot = 0; slot < 2; slot++) {
        put64(record_at(image.data, slot) + RECORD_AT_ones, 1);
        put64(record_at(image.data, slot) + RECORD_AT_overflow, 1);
    }
    reseal_header(image.data);
    assert_verdict("V9, V30", image, BLOOMFILE_ELAYOUT, "layout", AT_layout);
    free(image.data);
}

/* No faults are reported of fields that depend on it. */
TEST(wrong_layout_or_size_is_reported_as_one_fault)
{
    static const struct {
        unsigned at;
        uint64_t value;
        int error;
    } wrong[] = { { AT_layout, 5, BLOOMFILE_ELAYOUT },
                  { AT_layout, 0, BLOOMFILE_ELAYOUT },
                  { AT_m, P60 + 512, BLOOMFILE_EBITS } };
    for (size_t r = 0; r < ROWS(recipes); r++)
        for (size_t i = 0; i < ROWS(wrong); i++) {
            struct bytes image = image_from(recipes[r]);
            if (wrong[i].at == AT_layout)
                put32(image.data + AT_layout, (uint32_t)wrong[i].value);
            else
                put64(image.data + wrong[i].at, wrong[i].value);
            reseal_header(image.data);
            size_t count = 0;
            assert_error(bloomfile_inspect(image.data, image.size, NULL, NULL, &count),
                         wrong[i].error);
            assert_int_equal(count, 1);
            free(image.data);
        }
}

/* ---- V13, V14, V26, V27: sizes */

TEST(the_smallest_filters_are_valid)
{
    static const struct recipe smallest[] = {
        { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 1, 1, 0, 0 },
        { BLOOMFILE_LAYOUT_CLASSIC, IN_FILE, 1, 64, 1, 0 },
        { BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 1, 1, 1, 0 },
        { BLOOMFILE_LAYOUT_COUNTING, IN_FILE, 1, 1, 0, 0 },
        { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512, 64, 1, 0 },
        { BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 512, 1, 0, 0 },
    };
    for (size_t r = 0; r < ROWS(smallest); r++) {
        struct bytes image = image_from(smallest[r]);
        assert_verdict("V13 least m", image, 0, NULL, 0);
        assert_int_equal(image.size,
                         smallest[r].header_size == IN_FILE ? 4096 + 4096 + 4 : 512 + 64 + 4);
        free(image.data);
    }
}

TEST(header_of_the_largest_filter_is_valid_but_truncated)
{
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(recipes[r]);
        put64(image.data + AT_m, P60);
        put64(image.data + AT_m_unfolded, P60);
        put64(image.data + AT_body_size,
              recipes[r].layout == BLOOMFILE_LAYOUT_COUNTING ? 1ULL << 59 : 1ULL << 57);
        reseal_header(image.data);
        assert_verdict("V13 2^60", image, BLOOMFILE_ETRUNCATED, "size", image.size);
        free(image.data);
    }
}

TEST(image_of_a_wrong_size_is_refused)
{
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(recipes[r]);
        size_t right = image.size;
        image.data = realloc(image.data, right + 5000);
        assert_non_null(image.data);
        for (image.size = recipes[r].header_size; image.size < right; image.size++)
            assert_verdict("V26", image, BLOOMFILE_ETRUNCATED, "size", image.size);
        assert_verdict("V27", image, 0, NULL, 0);
        for (image.size = right + 1; image.size <= right + 5000; image.size++)
            assert_verdict("V27", image, BLOOMFILE_ETRAILING, "size", right);
        free(image.data);
    }
}

/* ---- encoding */

TEST(decoding_an_encoded_header_returns_the_same_fields)
{
    static struct header h = {
        .version = HEADER_VERSION,
        .header_size = IN_FILE,
        .compat = 0x80000001,
        .ro_compat = 0x80000002,
        .provenance = 0x80000004,
        .layout = BLOOMFILE_LAYOUT_COUNTING,
        .hash_id = HASH_XXH3_64,
        .k = 7,
        .m = 1001,
        .seed = 0x8182838485868788,
        .body_offset = IN_FILE,
        .body_size = 4096,
        .capacity = 0x0102030405060708,
        .fpr = 0.75,
        .m_unfolded = 3003,
        .tag = { 0xFF, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
        .label = "label",
        .record = { .sequence = HEADER_SEALED_SEQUENCE,
                    .state = BLOOMFILE_STATE_SEALED,
                    .flags = 0x80000001,
                    .n = 0x1112131415161718,
                    .ones = 900,
                    .overflow = 800,
                    .body_crc = 0x91929394 },
    };
    h.self_test = hash_self_test(h.seed);
    uint8_t bytes[IN_FILE];
    memset(bytes, 0xEE, sizeof bytes);
    header_encode(&h, bytes);
    struct header decoded;
    struct header_faults faults = { 0 };
    decode_header(bytes, IN_FILE + 4096 + 4, &decoded, &faults);
    assert_int_equal(faults.count, 0);
    assert_memory_equal(&decoded, &h, offsetof(struct header, record.body_crc));
    assert_int_equal(decoded.record.body_crc, h.record.body_crc);
    assert_memory_equal(bytes + IN_FILE / 2, bytes + 3 * IN_FILE / 4, IN_FILE / 4);
}

TEST(decode_reports_the_state_of_the_other_record)
{
    struct bytes image = image_from(recipes[3]);
    struct header whole;
    struct header_faults none = { 0 };
    decode_header(image.data, image.size, &whole, &none);
    assert_true(whole.other_intact && whole.records_identical);
    assert_false(decode_seal_unfinished(&whole, &none));
    put64(record_at(image.data, 1) + RECORD_AT_sequence, 5);
    put32(record_at(image.data, 1) + RECORD_AT_state, BLOOMFILE_STATE_POISONED);
    reseal_record(image.data, 1);
    for (unsigned damaged = 0; damaged < 2; damaged++) {
        struct header h;
        struct header_faults faults = { 0 };
        record_at(image.data, 1)[RECORD_AT_writers] ^= (uint8_t)damaged;
        decode_header(image.data, image.size, &h, &faults);
        assert_int_equal(faults.first, BLOOMFILE_ERECORD);
        assert_int_equal(faults.count, 1);
        assert_int_equal(h.other_intact, !damaged);
        assert_false(h.records_identical);
        assert_int_equal(decode_seal_unfinished(&h, &faults), damaged);
    }
    free(image.data);
}

TEST(live_ribbon_header_is_refused)
{
    static const struct {
        uint32_t layout, k;
        int error;
    } kinds[] = { { BLOOMFILE_LAYOUT_RIBBON, 0, BLOOMFILE_ESTATE },
                  { BLOOMFILE_LAYOUT_BLOCKED, 6, 0 } };
    for (size_t i = 0; i < ROWS(kinds); i++) {
        struct bytes image =
            image_from((struct recipe){ kinds[i].layout, IN_FILE, 1024, kinds[i].k, 5, 0 });
        memset(record_at(image.data, 0), 0, IN_FILE / 2);
        put64(record_at(image.data, 0) + RECORD_AT_sequence, 1);
        put32(record_at(image.data, 0) + RECORD_AT_state, BLOOMFILE_STATE_LIVE);
        record_at(image.data, 0)[RECORD_AT_identity] = 1;
        reseal_header(image.data);
        assert_error(bloomfile_inspect(image.data, image.size, NULL, NULL, NULL), kinds[i].error);
        free(image.data);
    }
}

TEST(new_live_header_has_one_record)
{
    struct header h = { .version = HEADER_VERSION,
                        .header_size = IN_FILE,
                        .record = { .sequence = 1, .state = BLOOMFILE_STATE_LIVE } };
    uint8_t bytes[IN_FILE];
    memset(bytes, 0xEE, sizeof bytes);
    header_encode(&h, bytes);
    assert_int_equal(get32(bytes + IN_FILE / 2 + RECORD_AT_state), BLOOMFILE_STATE_LIVE);
    for (size_t at = 3 * IN_FILE / 4; at < sizeof bytes; at++)
        assert_int_equal(bytes[at], 0);
}

TEST(whole_filter_encodes_fields_of_layers_and_slices_as_zero)
{
    struct header h = { .version = HEADER_VERSION,
                        .header_size = IN_FILE,
                        .layer = 1,
                        .link = 2,
                        .series_fpr = 0.5,
                        .whole_blocks = 3 };
    uint8_t bytes[IN_FILE];
    header_encode(&h, bytes);
    for (size_t at = AT_series; at < IN_FILE / 2 - 4; at++)
        assert_int_equal(bytes[at], 0);
}

TEST(reserved_bytes_of_a_record_are_kept)
{
    static const uint32_t sizes[] = { EMBEDDED, IN_FILE };
    for (size_t i = 0; i < ROWS(sizes); i++) {
        const struct header h = { .header_size = sizes[i] };
        const struct record r = { .writers = UINT32_MAX };
        uint8_t kept[IN_FILE / 4], bytes[IN_FILE / 4];
        memset(kept, 0xEE, sizeof kept);
        header_encode_record(&h, &r, kept, bytes);
        assert_int_equal(get32(bytes + RECORD_AT_writers), UINT32_MAX);
        for (size_t at = RECORD_AT_writers + 4; at < sizes[i] / 4 - 4; at++) {
            const bool field =
                (at >= RECORD_AT_watermark && at < RECORD_AT_watermark + 32) ||
                (sizes[i] == IN_FILE && at >= RECORD_AT_identity && at < RECORD_AT_identity + 16);
            assert_int_equal(bytes[at], field ? 0 : 0xEE);
        }
    }
}

/* The other record of a half sealed image may be completed at any time, so it may change. */
TEST(unchanged_header_bytes_mean_an_unchanged_header)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        struct bytes image = image_from(recipes[4]);
        put64(record_at(image.data, !slot) + RECORD_AT_sequence, 5);
        put32(record_at(image.data, !slot) + RECORD_AT_state, BLOOMFILE_STATE_LIVE);
        reseal_record(image.data, !slot);
        struct header h;
        struct header_faults faults = { 0 };
        decode_header(image.data, image.size, &h, &faults);
        assert_int_equal(faults.count, 0);
        assert_int_equal(h.in_force, slot);
        const uint8_t *other = record_at(image.data, !slot);
        for (uint8_t *byte = image.data; byte < image.data + IN_FILE; byte++) {
            assert_true(header_is_still(&h, image.data));
            *byte ^= 1;
            assert_int_equal(header_is_still(&h, image.data),
                             byte >= other && byte < other + IN_FILE / 4);
            *byte ^= 1;
        }
        free(image.data);
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
