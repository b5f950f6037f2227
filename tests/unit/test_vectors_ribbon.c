/* SPDX-License-Identifier: MIT
 * The test vectors of doc/format/ribbon.md 7: the layout ribbon, page by page. */
#include "spec_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/bytes.h"
#include "format/checksum.h"

#define C 0x9E3779B97F4A7C15u

static uint8_t test_string[4096]; /* section 9.2 */

/* The first `keys` starts of the test string, in one page. */
static struct bytes image_of(unsigned lines, uint64_t seed, unsigned keys)
{
    assert_true(keys <= sizeof test_string);
    bloomfile_builder *b = new_builder((struct bloomfile_params){
        .layout = BLOOMFILE_LAYOUT_RIBBON, .bits = 512 * (uint64_t)lines, .seed = seed });
    for (unsigned i = 0; i < keys; i++)
        assert_error(bloomfile_builder_add(b, test_string, i), 0);
    return last_image(b);
}

static unsigned maybes(struct bytes image)
{
    bloomfile_filter *f = open_image(image, 0);
    unsigned count = 0;
    for (uint64_t i = 1; i <= 4096; i++)
        count += bloomfile_contains_digest(f, i * C);
    bloomfile_close(f);
    return count;
}

TEST(ribbon_pages_match_the_vectors)
{
    for_each_vector(line, "page", 10)
    {
        unsigned lines, keys, blocks, page_seed, counted, maybe;
        char seed[17], crc[9];
        if (sscanf(line, "page ribbon lines=%u seed=%16[0-9a-f] keys=%u %u %u %u %8[0-9a-f] %u",
                   &lines, seed, &keys, &blocks, &page_seed, &counted, crc, &maybe) != 8)
            fail_msg("not understood: %s", line);
        struct bytes image = image_of(lines, hex(seed), keys);
        const uint8_t *page = image.data + EMBEDDED;
        assert_int_equal(get64(page), blocks | page_seed << 16 | (uint64_t)counted << 32);
        assert_int_equal(checksum(page, 64 * (size_t)lines), hex(crc));
        assert_int_equal(maybes(image), maybe);
        free(image.data);
    }
}

/* An image whose only page has this head, and words that are not a solution. */
static struct bytes unsolved_image(unsigned lines, unsigned blocks, unsigned page_seed)
{
    struct bytes image = image_of(lines, 0, 0);
    uint8_t *page = image.data + EMBEDDED;
    put64(page, blocks | page_seed << 16);
    for (uint64_t i = 0; i < 16 * lines - 2; i++)
        put32(page + 8 + 4 * i, (uint32_t)((i + 1) * C >> 32));
    reseal_body(image.data);
    return image;
}

static bool answer(struct bytes image, uint64_t digest)
{
    reseal_body(image.data);
    bloomfile_filter *f = open_image(image, 0);
    const bool maybe = bloomfile_contains_digest(f, digest);
    bloomfile_close(f);
    return maybe;
}

/* A lookup is "maybe" once the words that the text names are corrected, and "no" if any of them
 * is wrong. */
static void assert_depends_on_columns(struct bytes image, unsigned before, unsigned count,
                                      uint64_t a, uint32_t wrong, uint64_t digest)
{
    const uint32_t bit = (uint32_t)a & -(uint32_t)a;
    uint8_t *column = image.data + EMBEDDED + 8 + 4 * (size_t)before;
    assert_int_equal(answer(image, digest), wrong == 0);
    for (unsigned j = 0; j < count; j++)
        if (wrong >> j & 1)
            put32(column + 4 * j, get32(column + 4 * j) ^ bit);
    assert_true(answer(image, digest));
    for (unsigned j = 0; j < 2 * count; j++) {
        const uint32_t word = get32(column + 4 * j), other = (uint32_t)(a >> 32);
        put32(column + 4 * j, word ^ (j < count ? bit : other & -other));
        assert_false(answer(image, digest));
        put32(column + 4 * j, word);
    }
}

TEST(ribbon_lookups_depend_only_on_the_words_of_the_vectors)
{
    for_each_vector(line, "lookup", 5)
    {
        unsigned lines, blocks, page_seed, b;
        char digest[17], h[17], a[17], parities[9];
        if (sscanf(line,
                   "lookup ribbon lines=%u groups=%u page_seed=%u digest=%16[0-9a-f] "
                   "%16[0-9a-f] %u %16[0-9a-f] %8[0-9a-f]",
                   &lines, &blocks, &page_seed, digest, h, &b, a, parities) != 8)
            fail_msg("not understood: %s", line);
        const unsigned words = 16 * lines - 2;
        const unsigned r = words / blocks < 32 ? words / blocks : 32;
        const unsigned few = r == 32 ? blocks : blocks * (r + 1) - words;
        const unsigned count = r + (b >= few);
        const uint32_t known = (uint32_t)((UINT64_C(1) << count) - 1);
        struct bytes image = unsolved_image(lines, blocks, page_seed);
        assert_depends_on_columns(image, b * r + (b > few ? b - few : 0), count, hex(a),
                                  ((uint32_t)hex(h) ^ (uint32_t)hex(parities)) & known,
                                  hex(digest));
        free(image.data);
    }
}

TEST(ribbon_rates_match_the_columns_of_the_vectors)
{
    for_each_vector(line, "columns", 5)
    {
        unsigned lines, blocks;
        unsigned long long sum;
        if (sscanf(line, "columns ribbon lines=%u groups=%u %*u %*u %llu", &lines, &blocks, &sum) !=
            3)
            fail_msg("not understood: %s", line);
        struct bytes image = unsolved_image(lines, blocks, 0);
        const double rate = (double)sum / 0x1p32 / (blocks - 1);
        bloomfile_filter *f = open_image(image, 0);
        struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
        assert_error(bloomfile_measure(f, &measure), 0);
        bloomfile_close(f);
        assert_true(fabs(measure.fpr - rate) <= 1e-7 * rate);
        free(image.data);
    }
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < sizeof test_string; i++)
        test_string[i] = (uint8_t)(128 + 157 * i);
    return spec_test_main(argc, argv);
}
