/* SPDX-License-Identifier: MIT
 * Rule V18 of format-spec.md: the label is valid UTF-8 without control characters, padded with
 * zeros. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "format/header.h"

enum {
    LABEL = 128
};

#define HUNDRED                                                                                    \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"  \
    "123456789"

static const struct {
    bool valid;
    const char *what, *label;
} labels[] = {
    { true, "none", "" },
    { true, "every printable byte's neighbours", " ~" },
    { true, "two bytes, first and last", "\xC2\xA0\xDF\xBF" },
    { true, "three bytes, first and last", "\xE0\xA0\x80\xEF\xBF\xBF" },
    { true, "around the surrogates", "\xED\x9F\xBF\xEE\x80\x80" },
    { true, "four bytes, first and last", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF" },
    { true, "112 bytes", HUNDRED "0123456789\xC3\xA9" },
    { false, "control, U+0001", "a\x01" },
    { false, "control, line feed", "two\nlines" },
    { false, "control, escape", "\x1B[2J" },
    { false, "control, U+001F", "\x1F" },
    { false, "control, delete", "a\x7F" },
    { false, "control, U+0080", "\xC2\x80" },
    { false, "control, U+009F", "\xC2\x9F" },
    { false, "overlong, U+0000", "\xC0\x80" },
    { false, "overlong, two bytes", "\xC1\xBF" },
    { false, "overlong, three bytes", "\xE0\x9F\xBF" },
    { false, "overlong, four bytes", "\xF0\x8F\xBF\xBF" },
    { false, "surrogate, first", "\xED\xA0\x80" },
    { false, "surrogate, last", "\xED\xBF\xBF" },
    { false, "above U+10FFFF", "\xF4\x90\x80\x80" },
    { false, "five bytes", "\xF8\x88\x80\x80\x80" },
    { false, "byte FF", "\xFF" },
    { false, "a continuation alone", "a\x80" },
    { false, "nothing but continuations", "\x80\x80\x80\x80" },
    { false, "three continuations after C1", "\xC1\xBF\xBF\xBF" },
    { false, "cut off after one of two", "a\xC3" },
    { false, "cut off after two of three", "a\xE2\x82" },
    { false, "cut off after three of four", "a\xF0\x9F\x98" },
    { false, "no continuation second", "\xE2\x41\x80" },
    { false, "no continuation third", "\xE2\x82\x41" },
    { false, "no continuation fourth", "\xF0\x9F\x98\xC0" },
    { false, "Latin-1", "tiny \xE9" },
    { false, "a character across byte 112", HUNDRED "01234567890\xC3" },
};

static const struct recipe recipes[] = {
    { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512, 6, 1, 0 },
    { BLOOMFILE_LAYOUT_CLASSIC, IN_FILE, 100, 3, 1, 0 },
};

TEST(reader_accepts_exactly_the_valid_labels)
{
    for (size_t r = 0; r < ROWS(recipes); r++) {
        for (size_t i = 0; i < ROWS(labels); i++) {
            struct bytes image = image_from(recipes[r]);
            memcpy(image.data + LABEL, labels[i].label, strlen(labels[i].label));
            reseal_header(image.data);
            assert_verdict(labels[i].what, image, labels[i].valid ? 0 : BLOOMFILE_ELABEL, "label",
                           LABEL);
            free(image.data);
        }
    }
}

TEST(builder_accepts_exactly_the_valid_labels)
{
    for (size_t i = 0; i < ROWS(labels); i++) {
        struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        params.label = labels[i].label;
        bloomfile_builder *b;
        int error = bloomfile_builder_new(&b, &params);
        if (error != (labels[i].valid ? 0 : BLOOMFILE_EVALUE))
            fail_msg("%s: %s", labels[i].what, bloomfile_errname(error));
        if (error != 0)
            continue;
        struct bytes image = finish_image(b);
        assert_string_equal(verified_info(image).label, labels[i].label);
        bloomfile_builder_free(b);
        free(image.data);
    }
}

TEST(the_builder_refuses_a_label_of_113_bytes)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.label = HUNDRED "0123456789012";
    bloomfile_builder *b;
    assert_error(bloomfile_builder_new(&b, &params), BLOOMFILE_EVALUE);
    assert_null(b);
}

TEST(bytes_after_the_label_s_end_are_refused)
{
    for (size_t r = 0; r < ROWS(recipes); r++) {
        for (unsigned i = 1; i < BLOOMFILE_MAX_LABEL; i++) {
            struct bytes image = image_from(recipes[r]);
            memset(image.data + LABEL, 'a', i - 1);
            image.data[LABEL + i] = 'b';
            reseal_header(image.data);
            assert_verdict("bytes after a zero", image, BLOOMFILE_ELABEL, "label", LABEL);
            free(image.data);
        }
    }
}

TEST(the_label_is_checked_before_the_size)
{
    struct bytes image = image_from(recipes[0]);
    image.data[LABEL] = '\n';
    reseal_header(image.data);
    image.size--;
    assert_verdict("V18, V26", image, BLOOMFILE_ELABEL, "label", LABEL);
    free(image.data);
}

/* ---- all of UTF-8 */

static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

static bool is_surrogate(uint32_t c)
{
    return c >= 0xD800 && c < 0xE000;
}

static size_t encode(uint32_t c, uint8_t *bytes)
{
    if (c < 0x80) {
        bytes[0] = (uint8_t)c;
        return 1;
    }
    size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, c >>= 6)
        bytes[i] = (uint8_t)(0x80 | (c & 0x3F));
    bytes[0] = (uint8_t)(0xF0 << (4 - size) | c);
    return size;
}

TEST(all_characters_except_controls_and_surrogates_are_clean)
{
    for (uint32_t c = 0; c < 0x120000; c++) {
        uint8_t bytes[4];
        bool expected = !is_control(c) && !is_surrogate(c) && c <= 0x10FFFF;
        assert_int_equal(utf8_is_clean(bytes, encode(c, bytes)), expected);
    }
}

TEST(truncated_character_at_the_end_is_not_clean)
{
    static const char *const texts[] = { "a\xC3\xA9", "\xC3\xA9", "aa\xE2\x82\xAC",
                                         "aaaa\xF0\x9F\x98\x80" };
    for (size_t i = 0; i < ROWS(texts); i++) {
        const size_t whole = strlen(texts[i]);
        assert_true(utf8_is_clean((const uint8_t *)texts[i], whole));
        assert_false(utf8_is_clean((const uint8_t *)texts[i], whole - 1));
    }
}

TEST(bytes_other_than_valid_utf_8_are_not_clean)
{
    enum {
        ASCII = 0x7F - 0x20,
        TWO = 0x800 - 0xA0,
        THREE = 0x10000 - 0x800 - 0x800
    };
    unsigned clean = 0;
    for (uint32_t i = 0; i < 1 << 24; i++)
        clean += utf8_is_clean((uint8_t[]){ i >> 16 & 255, i >> 8 & 255, i & 255 }, 3);
    assert_int_equal(clean, ASCII * ASCII * ASCII + 2 * ASCII * TWO + THREE);

    static const uint8_t around[] = { 0x7F, 0x80, 0xBF, 0xC0 };
    clean = 0;
    for (uint32_t i = 0xF000; i < 0x10000; i++)
        for (unsigned j = 0; j < 16; j++)
            clean += utf8_is_clean(
                (uint8_t[]){ i >> 8 & 255, i & 255, around[j / 4], around[j % 4] }, 4);
    assert_int_equal(clean, 0x100000 / 0x1000 * 2 * 2);
}

int main(void)
{
    return run_all(NULL, NULL);
}
