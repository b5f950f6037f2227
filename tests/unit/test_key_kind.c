/* SPDX-License-Identifier: MIT
 * The header's field `key_kind`: it is recorded, copied to derived files, compared with the
 * caller's keys and with other filters, and never a reason to refuse a file. */
#include "support.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>

#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"

enum {
    COMPAT = 16,
    KEY_KIND = 44,
};

static const struct {
    uint32_t kind, size, stored;
} kinds[] = {
    { BLOOMFILE_KEYS_TEXT, 0, 1 },
    { BLOOMFILE_KEYS_LOWER, 0, 2 },
    { BLOOMFILE_KEYS_INTEGERS, 0, 3 },
    { BLOOMFILE_KEYS_FIXED, 1, 0x0104 },
    { BLOOMFILE_KEYS_FIXED, 16, 0x1004 },
    { BLOOMFILE_KEYS_FIXED, BLOOMFILE_MAX_KEY_SIZE, 0xFFFFFF04 },
    { BLOOMFILE_KEYS_BYTES, 0, 5 },
};

static struct bloomfile_params params_of(uint32_t kind, uint32_t size)
{
    return (struct bloomfile_params){ .struct_size = sizeof(struct bloomfile_params),
                                      .layout = BLOOMFILE_LAYOUT_COUNTING,
                                      .bits = 1000,
                                      .hashes = 4,
                                      .key_kind = kind,
                                      .key_size = size };
}

static struct bytes image_of(struct bloomfile_params params)
{
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, 50);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    return image;
}

static void assert_kind(const bloomfile_filter *f, uint32_t kind, uint32_t size)
{
    const struct bloomfile_info info = info_of(f);
    assert_int_equal(info.key_kind, kind);
    assert_int_equal(info.key_size, size);
    assert_int_equal(info.compat, (kind | size) != 0);
}

static void assert_file_kind(const char *path, uint32_t kind, uint32_t size)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, 0), 0);
    assert_kind(f, kind, size);
    bloomfile_close(f);
}

TEST(each_kind_of_keys_is_recorded)
{
    for (size_t i = 0; i < ROWS(kinds); i++) {
        struct bytes image = image_of(params_of(kinds[i].kind, kinds[i].size));
        assert_int_equal(get32(image.data + COMPAT), 1);
        assert_int_equal(get32(image.data + KEY_KIND), kinds[i].stored);
        bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_FULL);
        assert_kind(f, kinds[i].kind, kinds[i].size);
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(unknown_kind_of_keys_is_encoded_as_zero)
{
    struct bytes image = image_of(params_of(0, 0));
    assert_int_equal(get32(image.data + COMPAT), 0);
    assert_int_equal(get32(image.data + KEY_KIND), 0);
    free(image.data);
}

TEST(a_kind_or_size_out_of_range_is_refused_as_a_parameter)
{
    static const uint32_t wrong[][2] = {
        { 0, 1 }, { 1, 1 },        { 2, 9 },        { 3, 8 },   { 4, 0 },   { 5, 1 },
        { 6, 0 }, { 4, 1u << 24 }, { 1, 1u << 24 }, { 256, 0 }, { 257, 0 },
    };
    for (size_t i = 0; i < ROWS(wrong); i++) {
        struct bloomfile_params params = params_of(wrong[i][0], wrong[i][1]);
        bloomfile_builder *b;
        assert_error(bloomfile_builder_new(&b, &params), BLOOMFILE_EVALUE);
        bloomfile_filter *f;
        assert_error(bloomfile_create(&f, "never", &params, 0), BLOOMFILE_EVALUE);
    }
    assert_int_equal(entries_in_dir(), 0);
}

/* The file opens and works with any value of the field, and copies keep the value. */
TEST(kinds_of_later_versions_are_kept)
{
    static const struct {
        uint32_t compat, stored, kept;
    } rows[] = { { 0, 1, 0 },         { 0, 6, 0 },         { 0, UINT32_MAX, 0 },
                 { 1, 0, 0 },         { 1, 6, 6 },         { 1, 255, 255 },
                 { 1, 0x100, 0x100 }, { 1, 0x101, 0x101 }, { 1, 0x803, 0x803 },
                 { 1, 4, 4 },         { 2, 1, 0 },         { 1, UINT32_MAX, UINT32_MAX } };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct bytes image = image_of(params_of(BLOOMFILE_KEYS_TEXT, 0));
        put32(image.data + COMPAT, rows[i].compat);
        put32(image.data + KEY_KIND, rows[i].stored);
        reseal_header(image.data);
        const struct bloomfile_info info = verified_info(image);
        assert_int_equal(info.key_kind | info.key_size << 8, rows[i].kept);
        assert_int_equal(info.compat, rows[i].compat);
        assert_error(bloomfile_check_keys(&info, BLOOMFILE_KEYS_TEXT, 0),
                     rows[i].kept != 0 ? BLOOMFILE_EFEATURE : 0);
        bloomfile_filter *f = open_image(image, 0);
        uint8_t room[8];
        const struct bytes key = number_key(0, room);
        assert_true(bloomfile_contains(f, key.data, key.size));
        assert_error(bloomfile_fold(TO_PATH("copy", BLOOMFILE_TO_REPLACE), f, 1, NULL), 0);
        assert_file_kind("copy", rows[i].kept & 0xFF, rows[i].kept >> 8);
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(live_file_and_its_copies_keep_the_kind_of_keys)
{
    const struct bloomfile_params params = params_of(BLOOMFILE_KEYS_FIXED, 16);
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "live", &params, 0), 0);
    assert_kind(f, BLOOMFILE_KEYS_FIXED, 16);
    assert_error(bloomfile_add(f, "key", 3, NULL), 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", BLOOMFILE_TO_REPLACE), f, NULL), 0);
    assert_file_kind("copy", BLOOMFILE_KEYS_FIXED, 16);
    assert_error(bloomfile_seal(f, NULL), 0);
    assert_kind(f, BLOOMFILE_KEYS_FIXED, 16);
    bloomfile_close(f);
    assert_file_kind("live", BLOOMFILE_KEYS_FIXED, 16);
}

TEST(fold_project_and_assemble_keep_the_kind_of_keys)
{
    const struct bloomfile_params params = params_of(BLOOMFILE_KEYS_TEXT, 0);
    struct bytes image = image_of(params);
    bloomfile_filter *f = open_image(image, 0);
    assert_error(bloomfile_fold(TO_PATH("folded", BLOOMFILE_TO_REPLACE), f, 5, NULL), 0);
    assert_file_kind("folded", BLOOMFILE_KEYS_TEXT, 0);
    assert_error(bloomfile_project(TO_PATH("projected", BLOOMFILE_TO_REPLACE), f, NULL), 0);
    assert_file_kind("projected", BLOOMFILE_KEYS_TEXT, 0);
    bloomfile_close(f);
    free(image.data);
    static const uint8_t body[500];
    assert_error(bloomfile_assemble(TO_PATH("assembled", BLOOMFILE_TO_REPLACE), &params, body,
                                    sizeof body, 0, 0),
                 0);
    assert_file_kind("assembled", BLOOMFILE_KEYS_TEXT, 0);
}

/* ---- merging */

struct merge_row {
    uint32_t sources[3][2];
    size_t count;
    int error;
    uint32_t kind;
};

static void assert_merged(uint32_t op, const struct merge_row *row)
{
    const struct bloomfile_merge_params how = { .struct_size = sizeof how, .op = op, .max_fpr = 1 };
    struct bytes images[3];
    bloomfile_filter *handles[3] = { NULL };
    for (size_t i = 0; i < row->count; i++) {
        struct bloomfile_params params = params_of(BLOOMFILE_KEYS_TEXT, 0);
        params.layout = BLOOMFILE_LAYOUT_CLASSIC;
        images[i] = image_of(params);
        put32(images[i].data + KEY_KIND, row->sources[i][0] | row->sources[i][1] << 8);
        reseal_header(images[i].data);
        handles[i] = open_image(images[i], 0);
    }
    const bloomfile_filter *const *sources = (const bloomfile_filter *const *)handles;
    assert_error(
        bloomfile_merge(TO_PATH("merged", BLOOMFILE_TO_REPLACE), sources, row->count, &how),
        row->error);
    if (row->error == 0)
        assert_file_kind("merged", row->kind,
                         row->kind == BLOOMFILE_KEYS_FIXED ? row->sources[0][1] : 0);
    if (row->count == 2)
        assert_error(bloomfile_check_merge(handles[1], handles[0]), row->error);
    for (size_t i = 0; i < row->count; i++) {
        bloomfile_close(handles[i]);
        free(images[i].data);
    }
}

TEST(different_known_kinds_do_not_merge)
{
    static const struct merge_row rows[] = {
        { { { 1, 0 } }, 1, 0, 1 },
        { { { 6, 0 } }, 1, 0, 6 },
        { { { 2, 0 }, { 2, 0 }, { 2, 0 } }, 3, 0, 2 },
        { { { 3, 0 }, { 3, 0 } }, 2, 0, 3 },
        { { { 4, 16 }, { 4, 16 } }, 2, 0, 4 },
        { { { 5, 0 }, { 5, 0 } }, 2, 0, 5 },
        { { { 6, 0 }, { 6, 0 } }, 2, 0, 6 },
        { { { 0, 0 }, { 0, 0 } }, 2, 0, 0 },
        { { { 1, 0 }, { 0, 0 } }, 2, 0, 0 },
        { { { 0, 0 }, { 3, 0 } }, 2, 0, 0 },
        { { { 4, 16 }, { 0, 0 }, { 4, 16 } }, 3, 0, 0 },
        { { { 1, 0 }, { 1, 0 }, { 0, 0 } }, 3, 0, 0 },
        { { { 1, 0 }, { 3, 0 } }, 2, BLOOMFILE_EKEYKIND, 0 },
        { { { 1, 0 }, { 5, 0 } }, 2, BLOOMFILE_EKEYKIND, 0 },
        { { { 4, 16 }, { 4, 17 } }, 2, BLOOMFILE_EKEYKIND, 0 },
        { { { 4, 8 }, { 3, 0 } }, 2, BLOOMFILE_EKEYKIND, 0 },
        { { { 1, 0 }, { 0, 0 }, { 3, 0 } }, 3, BLOOMFILE_EKEYKIND, 0 },
        { { { 0, 0 }, { 1, 0 }, { 3, 0 } }, 3, BLOOMFILE_EKEYKIND, 0 },
        { { { 2, 0 }, { 1, 0 } }, 2, BLOOMFILE_EKEYKIND, 0 },
        { { { 2, 0 }, { 0, 0 } }, 2, BLOOMFILE_EKEYKIND, 0 },
        { { { 2, 0 }, { 2, 0 }, { 0, 0 } }, 3, BLOOMFILE_EKEYKIND, 0 },
        { { { 0, 0 }, { 0, 0 }, { 2, 0 } }, 3, BLOOMFILE_EKEYKIND, 0 },
        { { { 6, 0 }, { 0, 0 } }, 2, BLOOMFILE_EFEATURE, 0 },
        { { { 6, 0 }, { 1, 0 } }, 2, BLOOMFILE_EFEATURE, 0 },
        { { { 1, 1 }, { 1, 0 } }, 2, BLOOMFILE_EFEATURE, 0 },
        { { { 0, 0 }, { 0, 0 }, { 7, 0 } }, 3, BLOOMFILE_EFEATURE, 0 },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        assert_merged(BLOOMFILE_MERGE_UNION, &rows[i]);
        assert_merged(BLOOMFILE_MERGE_INTERSECTION, &rows[i]);
    }
}

/* ---- the caller's keys */

static const struct {
    uint32_t kind;
    uint64_t size;
} keys[] = { { BLOOMFILE_KEYS_TEXT, 0 },     { BLOOMFILE_KEYS_LOWER, 0 },
             { BLOOMFILE_KEYS_INTEGERS, 0 }, { BLOOMFILE_KEYS_FIXED, 8 },
             { BLOOMFILE_KEYS_FIXED, 16 },   { BLOOMFILE_KEYS_BYTES, 0 },
             { BLOOMFILE_KEYS_BYTES, 8 },    { BLOOMFILE_KEYS_BYTES, 16 } };

/* 1: accepted; the columns follow `keys`. */
static const struct {
    uint32_t kind, size;
    const char *accepts;
} fits[] = {
    { BLOOMFILE_KEYS_UNKNOWN, 0, "11111111" }, { BLOOMFILE_KEYS_TEXT, 0, "10000111" },
    { BLOOMFILE_KEYS_LOWER, 0, "11000111" },   { BLOOMFILE_KEYS_INTEGERS, 0, "00110010" },
    { BLOOMFILE_KEYS_FIXED, 8, "00010010" },   { BLOOMFILE_KEYS_FIXED, 16, "00001001" },
    { BLOOMFILE_KEYS_BYTES, 0, "00011111" },
};

TEST(keys_fit_only_filters_of_a_matching_kind)
{
    for (size_t i = 0; i < ROWS(fits); i++) {
        struct bytes image = image_of(params_of(fits[i].kind, fits[i].size));
        const struct bloomfile_info info = verified_info(image);
        for (size_t j = 0; j < ROWS(keys); j++) {
            const int error = fits[i].accepts[j] == '1' ? 0 : BLOOMFILE_EKEYKIND;
            struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
            struct bloomfile_source from = bloomfile_from_memory(image.data, image.size);
            how.expect = BLOOMFILE_EXPECT_KEYS;
            how.key_kind = keys[j].kind;
            how.key_size = (uint32_t)keys[j].size;
            bloomfile_filter *f;
            assert_error(bloomfile_check_keys(&info, keys[j].kind, keys[j].size), error);
            assert_error(bloomfile_open_with(&f, &from, &how), error);
            bloomfile_close(f);
        }
        free(image.data);
    }
}

TEST(keys_of_an_invalid_kind_or_size_are_refused)
{
    static const struct {
        uint32_t kind;
        uint64_t size;
    } wrong[] = { { 0, 0 }, { 1, 1 }, { 2, 8 }, { 3, 8 }, { 4, 0 }, { 6, 0 }, { 257, 0 } };
    const struct bloomfile_info unknown = BLOOMFILE_INFO_INIT;
    for (size_t i = 0; i < ROWS(wrong); i++)
        assert_error(bloomfile_check_keys(&unknown, wrong[i].kind, wrong[i].size),
                     BLOOMFILE_EVALUE);
    assert_string_equal(bloomfile_key_kind_name(BLOOMFILE_KEYS_BYTES), "bytes");
    assert_null(bloomfile_key_kind_name(BLOOMFILE_KEYS_BYTES + 1));
}

int main(void)
{
    return run_all(enter_temp_dir, leave_temp_dir);
}
