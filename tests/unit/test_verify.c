/* SPDX-License-Identifier: MIT
 * Section 12.4 of format-spec.md: bodies with intact pages that contradict their record. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <stdlib.h>
#include <string.h>

#include "image/body.h"

enum {
    KEYS = SMALL_KEYS,
    ABSENT = 60,
    PAGE = 4096
};

enum {
    FLAGS = 12,
    ONES = 24,
    OVERFLOW = 32,
    BODY_CRC = 56
};

static void assert_everything_may_be_there(const bloomfile_filter *f)
{
    bool hits[ABSENT];
    uint64_t digests[ABSENT];
    for (uint64_t i = 0; i < ABSENT; i++) {
        digests[i] = number(0, 2000000 + i);
        assert_true(bloomfile_contains_digest(f, digests[i]));
    }
    assert_int_equal(bloomfile_contains_digests(f, digests, ABSENT, hits), ABSENT);
}

/* Frees the image. */
static void assert_contradiction(struct bytes image, const char *field, uint64_t offset)
{
    bloomfile_filter *f;
    assert_error(
        open_from(&f, bloomfile_from_memory(image.data, image.size), BLOOMFILE_OPEN_VERIFY_FULL),
        BLOOMFILE_EBODY);
    assert_null(f);
    f = open_image(image, 0);
    struct bloomfile_fault fault;
    assert_error(bloomfile_verify(f, 1, &fault), BLOOMFILE_EBODY);
    assert_int_equal(fault.error, BLOOMFILE_EBODY);
    assert_string_equal(fault.field, field);
    assert_int_equal(fault.offset, offset);
    assert_int_equal(fault.page, UINT64_MAX);
    assert_int_equal(bloomfile_check(f), BLOOMFILE_EBODY);
    assert_int_equal(info_of(f).bad_pages, 0);
    assert_everything_may_be_there(f);
    bloomfile_close(f);

    assert_error(
        open_from(&f, bloomfile_from_memory(image.data, image.size), BLOOMFILE_OPEN_VERIFY_NONE),
        0);
    assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_EBODY);
    assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_EBODY);
    assert_everything_may_be_there(f);
    bloomfile_close(f);
    free(image.data);
}

static struct bytes with_record_changed(const struct recipe *recipe, unsigned at, uint8_t change)
{
    struct bytes image = image_from(*recipe);
    for (unsigned slot = 0; slot < 2; slot++) {
        record_at(image.data, slot)[at] ^= change;
        reseal_record(image.data, slot);
    }
    return image;
}

TEST(body_that_contradicts_its_record_is_detected)
{
    for (size_t r = 0; r < ROWS(small_recipes); r++) {
        struct bytes image = with_record_changed(&small_recipes[r], BODY_CRC, 1);
        for (unsigned page = 0; page < 2; page++)
            image.data[image.size - 8 + 4 * page] ^= 1;
        assert_contradiction(image, "body_crc", EMBEDDED);
        assert_contradiction(with_record_changed(&small_recipes[r], ONES, 1), "ones", EMBEDDED);
    }
    assert_contradiction(with_record_changed(&small_recipes[2], OVERFLOW, 1), "overflow", EMBEDDED);
}

TEST(record_of_another_body_makes_every_page_bad)
{
    for (size_t r = 0; r < ROWS(small_recipes); r++) {
        struct bytes image = with_record_changed(&small_recipes[r], BODY_CRC, 1);
        bloomfile_filter *f = open_image(image, 0);
        assert_everything_may_be_there(f);
        assert_int_equal(bloomfile_check(f), BLOOMFILE_EPAGE);
        assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_EPAGE);
        assert_int_equal(info_of(f).bad_pages, 2);
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(status_is_the_first_damage_found)
{
    struct bytes image = with_record_changed(&small_recipes[0], ONES, 1);
    image.data[EMBEDDED] ^= 1;
    bloomfile_filter *f = open_image(image, 0);
    assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_EPAGE);
    image.data[EMBEDDED] ^= 1;
    assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_EBODY);
    assert_int_equal(bloomfile_check(f), BLOOMFILE_EPAGE);
    bloomfile_close(f);
    free(image.data);
}

/* The next position: every one near `first` and `last`, every 61st between. */
static size_t next_of(size_t at, size_t first, size_t last)
{
    return at < first + 10 || at + 100 > last ? at + 1 : at + 61;
}

TEST(verify_finds_bits_set_beyond_m)
{
    static const struct {
        struct recipe recipe;
        size_t first, last; /* bytes of the body with room for a bit beyond m */
        bool counted;       /* the first byte also has bits below m */
    } padded[] = {
        { { BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 512 * 65, 6, KEYS, 0 },
          65 * 64,
          2 * PAGE - 1,
          false },
        { { BLOOMFILE_LAYOUT_CLASSIC, IN_FILE, 8 * PAGE - 80, 6, KEYS, 0 },
          PAGE - 10,
          PAGE - 1,
          false },
        { { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 8 * 70 - 1, 6, KEYS, 0 }, 69, 127, true },
        { { BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 2 * 70, 6, KEYS, 0 }, 70, 127, false },
        { { BLOOMFILE_LAYOUT_COUNTING, IN_FILE, 2 * 70 - 1, 6, KEYS, 0 }, 69, PAGE - 1, true },
    };
    for (size_t r = 0; r < ROWS(padded); r++) {
        const struct recipe *recipe = &padded[r].recipe;
        const size_t first = padded[r].first, last = padded[r].last;
        for (size_t at = first; at <= last; at = next_of(at, first, last)) {
            struct bytes image = image_from(*recipe);
            image.data[recipe->header_size + at] |= 0x80;
            if (padded[r].counted && at == first)
                for (unsigned slot = 0; slot < 2; slot++)
                    record_at(image.data, slot)[ONES]++;
            reseal_body(image.data);
            assert_contradiction(image, "padding", recipe->header_size + at);
        }
    }
}

/* Bytes next to it in memory are ignored. */
TEST(last_page_check_finds_set_bits_beyond_m)
{
    static const uint64_t page_counts[] = { 1, 2, 5000 };
    static uint8_t room[5 * PAGE];
    uint8_t *const page = room + PAGE;
    const size_t last = 70; /* partly used */
    for (size_t i = 0; i < ROWS(page_counts); i++) {
        const uint64_t m = 8 * (PAGE * (page_counts[i] - 1) + last) + 7;
        const struct header h = { .layout = BLOOMFILE_LAYOUT_CLASSIC,
                                  .m = m,
                                  .header_size = IN_FILE,
                                  .body_size = PAGE * page_counts[i] };
        memset(room, 0xFF, sizeof room);
        memset(page + last + 1, 0, PAGE - last - 1);
        page[last] = 0x7F;
        assert_true(body_last_page_is_clean(&h, page));
        memset(room, 0, sizeof room);
        for (size_t at = last; at < PAGE; at++) {
            page[at] = 0x80;
            assert_false(body_last_page_is_clean(&h, page));
            page[at] = 0;
        }
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
