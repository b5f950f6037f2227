/* SPDX-License-Identifier: MIT
 * A damaged filter never answers a silent "no". Every damage to a small image is tried, and the
 * allowed results of lookups are computed from the specification. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/header.h"
#include "plain_ribbon.h"

enum {
    KEYS = SMALL_KEYS,
    ABSENT = 60,
    PAGE = 4096
};

static const struct recipe three_pages[] = {
    { BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 512 * 64 * 3, 6, 3000, 0 },
    { BLOOMFILE_LAYOUT_CLASSIC, IN_FILE, 8 * PAGE * 3, 5, 3000, 0 },
    { BLOOMFILE_LAYOUT_COUNTING, IN_FILE, 2 * PAGE * 3, 5, 3000, 0 },
    { BLOOMFILE_LAYOUT_RIBBON, IN_FILE, 512 * 64 * 3, 0, 3000, 0 },
};

/* An addition to small_recipes: two pages, the second of them short. */
static const struct recipe small_ribbon = {
    BLOOMFILE_LAYOUT_RIBBON, EMBEDDED, 512 * 66, 0, KEYS, 0
};

enum {
    SMALL = ROWS(small_recipes) + 1
};

static const struct recipe *small_recipe(size_t i)
{
    return i < ROWS(small_recipes) ? &small_recipes[i] : &small_ribbon;
}

static uint64_t absent(const struct recipe *recipe, uint64_t i)
{
    return number(recipe->seed, 1000000 + i);
}

/* Section 14: a bit or counter in a page with a wrong checksum counts as set. ribbon.md: lookups
 * in such a page return "maybe". */
static bool may_be_there(const struct recipe *recipe, struct bytes image, uint64_t bad_page,
                         uint64_t digest, bool *touches_bad_page)
{
    if (recipe->layout == BLOOMFILE_LAYOUT_RIBBON) {
        *touches_bad_page = plain_mulhi(digest, recipe->m / 512) / 64 == bad_page;
        return *touches_bad_page ||
               plain_body_has(image.data + recipe->header_size, recipe->m / 512, digest);
    }
    unsigned per_byte = recipe->layout == BLOOMFILE_LAYOUT_COUNTING ? 2 : 8;
    uint64_t x[BLOOMFILE_MAX_HASHES];
    reference_positions(recipe->layout, recipe->m, recipe->k, digest, x);
    bool maybe = true;
    *touches_bad_page = false;
    for (unsigned i = 0; i < recipe->k; i++) {
        bool doubtful = x[i] / per_byte / PAGE == bad_page;
        *touches_bad_page |= doubtful;
        maybe &= doubtful ||
                 reference_value(recipe->layout, image.data + recipe->header_size, x[i]) != 0;
    }
    return maybe;
}

static void assert_answers_follow_section_12(const struct recipe *recipe, struct bytes image,
                                             uint64_t bad_page)
{
    for (unsigned many = 0; many < 2; many++) {
        bloomfile_filter *f = open_image(image, 0);
        bool any_touched = false;
        for (uint64_t i = 0; i < KEYS + ABSENT; i++) {
            uint64_t digest = i < KEYS ? number(recipe->seed, i) : absent(recipe, i - KEYS);
            bool touched, expected = may_be_there(recipe, image, bad_page, digest, &touched), hit;
            if (many)
                bloomfile_contains_digests(f, &digest, 1, &hit);
            else
                hit = bloomfile_contains_digest(f, digest);
            assert_int_equal(hit, expected);
            assert_true(hit || i >= KEYS);
            any_touched |= touched;
            if (any_touched && many == 0)
                assert_int_equal(bloomfile_check(f), BLOOMFILE_EPAGE);
            if (!any_touched) {
                assert_int_equal(bloomfile_check(f), 0);
                assert_int_equal(info_of(f).bad_pages, 0);
            }
        }
        assert_true(any_touched);
        assert_int_equal(bloomfile_check(f), BLOOMFILE_EPAGE);
        assert_int_equal(info_of(f).bad_pages, 1);
        bloomfile_close(f);
    }
}

static void assert_verification_names(const struct recipe *recipe, struct bytes image,
                                      uint64_t bad_page)
{
    bloomfile_filter *f = (void *)&image;
    assert_error(
        open_from(&f, bloomfile_from_memory(image.data, image.size), BLOOMFILE_OPEN_VERIFY_FULL),
        BLOOMFILE_EPAGE);
    assert_null(f);

    f = open_image(image, 0);
    struct bloomfile_fault fault;
    assert_error(bloomfile_verify(f, 1, &fault), BLOOMFILE_EPAGE);
    assert_int_equal(fault.error, BLOOMFILE_EPAGE);
    assert_int_equal(fault.page, bad_page);
    assert_int_equal(fault.offset, recipe->header_size + PAGE * bad_page);
    assert_string_equal(fault.field, "page");
    assert_int_equal(bloomfile_check(f), BLOOMFILE_EPAGE);
    assert_int_equal(info_of(f).bad_pages, 1);
    bloomfile_close(f);
}

TEST(flipped_bit_of_the_body_is_detected_and_never_answers_no)
{
    for (size_t r = 0; r < SMALL; r++) {
        struct bytes image = image_from(*small_recipe(r));
        size_t body_size = (size_t)get64(image.data + AT_body_size);
        for (size_t bit = 0; bit < 8 * body_size; bit++) {
            uint8_t *byte = image.data + EMBEDDED + bit / 8;
            *byte ^= (uint8_t)(1 << bit % 8);
            assert_verification_names(small_recipe(r), image, bit / 8 / PAGE);
            assert_answers_follow_section_12(small_recipe(r), image, bit / 8 / PAGE);
            *byte ^= (uint8_t)(1 << bit % 8);
        }
        free(image.data);
    }
}

TEST(flipped_bit_of_a_page_checksum_makes_its_page_bad)
{
    for (size_t r = 0; r < SMALL; r++) {
        struct bytes image = image_from(*small_recipe(r));
        for (size_t bit = 0; bit < 2 * 32; bit++) {
            uint8_t *byte = image.data + image.size - 8 + bit / 8;
            *byte ^= (uint8_t)(1 << bit % 8);
            assert_verification_names(small_recipe(r), image, bit / 32);
            assert_answers_follow_section_12(small_recipe(r), image, bit / 32);
            *byte ^= (uint8_t)(1 << bit % 8);
        }
        free(image.data);
    }
}

TEST(page_of_zeros_never_answers_no)
{
    for (size_t r = 0; r < ROWS(three_pages); r++) {
        for (uint64_t page = 0; page < 3; page++) {
            struct bytes image = image_from(three_pages[r]);
            memset(image.data + IN_FILE + PAGE * page, 0, PAGE);
            assert_verification_names(&three_pages[r], image, page);
            assert_answers_follow_section_12(&three_pages[r], image, page);
            free(image.data);
        }
    }
}

TEST(only_the_two_swapped_pages_are_bad)
{
    for (size_t r = 0; r < ROWS(three_pages); r++) {
        struct bytes image = image_from(three_pages[r]);
        uint8_t *body = image.data + IN_FILE, page[PAGE];
        memcpy(page, body, PAGE);
        memcpy(body, body + PAGE, PAGE);
        memcpy(body + PAGE, page, PAGE);
        bloomfile_filter *f = open_image(image, 0);
        for (uint64_t i = 0; i < three_pages[r].keys; i++)
            assert_true(bloomfile_contains_digest(f, number(0, i)));
        assert_int_equal(bloomfile_check(f), BLOOMFILE_EPAGE);
        assert_int_equal(info_of(f).bad_pages, 2);
        struct bloomfile_fault fault;
        assert_error(bloomfile_verify(f, 1, &fault), BLOOMFILE_EPAGE);
        assert_int_equal(fault.page, 0);
        assert_int_equal(info_of(f).bad_pages, 2);
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(a_page_of_another_filter_of_the_same_shape_is_bad)
{
    for (size_t r = 0; r < ROWS(three_pages); r++) {
        struct recipe other_keys = three_pages[r];
        other_keys.keys /= 2;
        struct bytes image = image_from(three_pages[r]), other = image_from(other_keys);
        assert_int_equal(image.size, other.size);
        for (size_t page = 0; page < 3; page++) {
            size_t at = IN_FILE + PAGE * page, entry = image.size - 12 + 4 * page;
            memcpy(image.data + at, other.data + at, PAGE);
            memcpy(image.data + entry, other.data + entry, 4);
            if (page == 0) {
                assert_verification_names(&three_pages[r], image, 0);
                assert_answers_follow_section_12(&three_pages[r], image, 0);
            }
        }
        bloomfile_filter *f = open_image(image, 0);
        for (uint64_t i = 0; i < three_pages[r].keys; i++)
            assert_true(bloomfile_contains_digest(f, number(0, i)));
        assert_int_equal(info_of(f).bad_pages, 3);
        bloomfile_close(f);
        free(image.data);
        free(other.data);
    }
}

TEST(a_page_found_bad_stays_bad)
{
    struct bytes image = image_from(three_pages[0]);
    image.data[IN_FILE] ^= 1;
    bloomfile_filter *f = open_image(image, 0);
    assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_EPAGE);
    image.data[IN_FILE] ^= 1;
    assert_error(bloomfile_verify(f, 1, NULL), 0);
    assert_int_equal(bloomfile_check(f), BLOOMFILE_EPAGE);
    assert_int_equal(info_of(f).bad_pages, 1);
    uint64_t in_first_page = 0;
    assert_true(bloomfile_contains_digest(f, in_first_page));
    bloomfile_close(f);
    free(image.data);
}

TEST(verify_none_trusts_pages_until_verification_finds_them_bad)
{
    for (size_t r = 0; r < ROWS(three_pages); r++) {
        struct bytes image = image_from(three_pages[r]);
        memset(image.data + IN_FILE + PAGE, 0, PAGE);
        bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_NONE);
        unsigned lost = 0;
        for (uint64_t i = 0; i < three_pages[r].keys; i++)
            lost += !bloomfile_contains_digest(f, number(0, i));
        if (three_pages[r].layout == BLOOMFILE_LAYOUT_RIBBON)
            assert_int_equal(lost, 0); /* a ribbon page whose head is zeros is not a valid page */
        else
            assert_true(lost > three_pages[r].keys / 10);
        assert_int_equal(bloomfile_check(f), 0);
        assert_int_equal(info_of(f).bad_pages, 0);

        assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_EPAGE);
        for (uint64_t i = 0; i < three_pages[r].keys; i++)
            assert_true(bloomfile_contains_digest(f, number(0, i)));
        for (uint64_t i = 0; i < 1000; i++) {
            bool touched, expected = may_be_there(&three_pages[r], image, 1,
                                                  absent(&three_pages[r], i), &touched);
            assert_int_equal(bloomfile_contains_digest(f, absent(&three_pages[r], i)), expected);
        }
        assert_int_equal(bloomfile_check(f), BLOOMFILE_EPAGE);
        assert_int_equal(info_of(f).bad_pages, 1);
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(undamaged_filter_reports_no_damage)
{
    static const unsigned flags[] = { 0, BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE };
    for (size_t r = 0; r < ROWS(small_recipes); r++) {
        struct bytes image = image_from(small_recipes[r]);
        for (size_t i = 0; i < ROWS(flags); i++) {
            bloomfile_filter *f = open_image(image, flags[i]);
            for (unsigned round = 0; round < 2; round++) {
                for (uint64_t key = 0; key < ABSENT; key++) {
                    uint64_t digest = absent(&small_recipes[r], key);
                    assert_int_equal(bloomfile_contains_digest(f, digest),
                                     reference_contains(small_recipes[r].layout,
                                                        image.data + EMBEDDED, small_recipes[r].m,
                                                        small_recipes[r].k, digest));
                }
                struct bloomfile_fault fault = { 0 };
                assert_error(bloomfile_verify(f, 1, &fault), 0);
                assert_int_equal(fault.error, 0);
            }
            assert_int_equal(bloomfile_check(f), 0);
            assert_int_equal(info_of(f).bad_pages, 0);
            bloomfile_close(f);
        }
        free(image.data);
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
