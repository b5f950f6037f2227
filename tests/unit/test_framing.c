/* SPDX-License-Identifier: MIT
 * The header's field `framing`: recorded, kept by what makes new files of old ones, and never a
 * reason to refuse. */
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
    FRAMING = 44,
};

static const struct {
    uint32_t kind, size, stored;
} framings[] = {
    { BLOOMFILE_LINES, 0, 1 },       { BLOOMFILE_LINES_CRLF, 0, 2 },
    { BLOOMFILE_NULL, 0, 3 },        { BLOOMFILE_FIXED, 1, 0x0104 },
    { BLOOMFILE_FIXED, 16, 0x1004 }, { BLOOMFILE_FIXED, BLOOMFILE_MAX_FRAMING_SIZE, 0xFFFFFF04 },
};

static struct bloomfile_params params_of(uint32_t framing, uint32_t size)
{
    return (struct bloomfile_params){ .struct_size = sizeof(struct bloomfile_params),
                                      .layout = BLOOMFILE_LAYOUT_COUNTING,
                                      .bits = 1000,
                                      .hashes = 4,
                                      .framing = framing,
                                      .framing_size = size };
}

static struct bytes image_of(struct bloomfile_params params)
{
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, 50);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    return image;
}

static void assert_framing(const bloomfile_filter *f, uint32_t kind, uint32_t size)
{
    const struct bloomfile_info info = info_of(f);
    assert_int_equal(info.framing, kind);
    assert_int_equal(info.framing_size, size);
    assert_int_equal(info.compat, kind != BLOOMFILE_FRAMING_UNKNOWN);
}

static void assert_file_framing(const char *path, uint32_t kind, uint32_t size)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, 0), 0);
    assert_framing(f, kind, size);
    bloomfile_close(f);
}

TEST(each_framing_is_recorded)
{
    for (size_t i = 0; i < ROWS(framings); i++) {
        struct bytes image = image_of(params_of(framings[i].kind, framings[i].size));
        assert_int_equal(get32(image.data + COMPAT), 1);
        assert_int_equal(get32(image.data + FRAMING), framings[i].stored);
        bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_FULL);
        assert_framing(f, framings[i].kind, framings[i].size);
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(a_file_without_a_framing_has_zeros_there)
{
    struct bytes image = image_of(params_of(0, 0));
    assert_int_equal(get32(image.data + COMPAT), 0);
    assert_int_equal(get32(image.data + FRAMING), 0);
    free(image.data);
}

TEST(what_is_no_framing_is_refused_as_a_parameter)
{
    static const uint32_t wrong[][2] = {
        { 0, 1 }, { 1, 1 }, { 2, 9 }, { 3, 1 }, { 4, 0 }, { 4, 1u << 24 }, { 5, 0 }, { 256, 0 },
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

TEST(values_that_are_none_count_as_unknown)
{
    static const struct {
        uint32_t compat, stored;
    } rows[] = { { 0, 1 },   { 0, UINT32_MAX }, { 1, 0 },     { 1, 5 },
                 { 1, 255 }, { 1, 0x100 },      { 1, 0x101 }, { 1, 0x103 },
                 { 1, 4 },   { 1, UINT32_MAX }, { 2, 1 } };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct bytes image = image_of(params_of(BLOOMFILE_LINES, 0));
        put32(image.data + COMPAT, rows[i].compat);
        put32(image.data + FRAMING, rows[i].stored);
        reseal_header(image.data);
        const struct bloomfile_info info = verified_info(image);
        assert_int_equal(info.framing, BLOOMFILE_FRAMING_UNKNOWN);
        assert_int_equal(info.framing_size, 0);
        assert_int_equal(info.compat, rows[i].compat);
        bloomfile_filter *f = open_image(image, 0);
        assert_error(bloomfile_fold(TO_PATH("copy", BLOOMFILE_TO_REPLACE), f, 1), 0);
        assert_file_framing("copy", BLOOMFILE_FRAMING_UNKNOWN, 0);
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(a_live_file_and_its_copies_keep_it)
{
    const struct bloomfile_params params = params_of(BLOOMFILE_FIXED, 16);
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "live", &params, 0), 0);
    assert_framing(f, BLOOMFILE_FIXED, 16);
    assert_error(bloomfile_add(f, "key", 3, NULL), 0);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", BLOOMFILE_TO_REPLACE), f), 0);
    assert_file_framing("copy", BLOOMFILE_FIXED, 16);
    assert_error(bloomfile_seal(f), 0);
    assert_framing(f, BLOOMFILE_FIXED, 16);
    bloomfile_close(f);
    assert_file_framing("live", BLOOMFILE_FIXED, 16);
}

TEST(folding_projecting_and_assembling_keep_it)
{
    const struct bloomfile_params params = params_of(BLOOMFILE_NULL, 0);
    struct bytes image = image_of(params);
    bloomfile_filter *f = open_image(image, 0);
    assert_error(bloomfile_fold(TO_PATH("folded", BLOOMFILE_TO_REPLACE), f, 5), 0);
    assert_file_framing("folded", BLOOMFILE_NULL, 0);
    assert_error(bloomfile_project(TO_PATH("projected", BLOOMFILE_TO_REPLACE), f), 0);
    assert_file_framing("projected", BLOOMFILE_NULL, 0);
    bloomfile_close(f);
    free(image.data);
    static const uint8_t body[500];
    assert_error(bloomfile_assemble(TO_PATH("assembled", BLOOMFILE_TO_REPLACE), &params, body,
                                    sizeof body, 0, 0),
                 0);
    assert_file_framing("assembled", BLOOMFILE_NULL, 0);
}

static void assert_merged(uint32_t op, const uint32_t (*sources)[2], size_t count, uint32_t kind)
{
    const struct bloomfile_merge_params how = { .struct_size = sizeof how, .op = op, .max_fpr = 1 };
    struct bytes images[3];
    bloomfile_filter *handles[3] = { NULL };
    for (size_t i = 0; i < count; i++) {
        struct bloomfile_params params = params_of(sources[i][0], sources[i][1]);
        params.layout = BLOOMFILE_LAYOUT_CLASSIC;
        images[i] = image_of(params);
        handles[i] = open_image(images[i], 0);
    }
    assert_error(bloomfile_merge(TO_PATH("merged", BLOOMFILE_TO_REPLACE),
                                 (const bloomfile_filter *const *)handles, count, &how),
                 0);
    assert_file_framing("merged", kind, kind == BLOOMFILE_FIXED ? sources[0][1] : 0);
    for (size_t i = 0; i < count; i++) {
        bloomfile_close(handles[i]);
        free(images[i].data);
    }
}

TEST(a_union_of_unlike_framings_has_none)
{
    static const struct {
        uint32_t sources[3][2];
        size_t count;
        uint32_t kind;
    } rows[] = {
        { { { 1, 0 } }, 1, 1 },
        { { { 2, 0 }, { 2, 0 }, { 2, 0 } }, 3, 2 },
        { { { 4, 16 }, { 4, 16 } }, 2, 4 },
        { { { 4, 16 }, { 4, 17 } }, 2, 0 },
        { { { 1, 0 }, { 2, 0 } }, 2, 0 },
        { { { 1, 0 }, { 0, 0 } }, 2, 0 },
        { { { 0, 0 }, { 1, 0 } }, 2, 0 },
        { { { 0, 0 }, { 0, 0 } }, 2, 0 },
        { { { 1, 0 }, { 2, 0 }, { 1, 0 } }, 3, 0 },
        { { { 1, 0 }, { 1, 0 }, { 3, 0 } }, 3, 0 },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        assert_merged(BLOOMFILE_MERGE_UNION, rows[i].sources, rows[i].count, rows[i].kind);
        assert_merged(BLOOMFILE_MERGE_INTERSECTION, rows[i].sources, rows[i].count, rows[i].kind);
    }
}

int main(void)
{
    return run_all(enter_temp_dir, leave_temp_dir);
}
