/* SPDX-License-Identifier: MIT
 * CRC-32 as zlib computes it; the checksums of pages combine to the checksum of the whole. */
#include "support.h"

#include "format/checksum.h"

/* Section 12.1, one bit at a time. */
static uint32_t reference_crc(const uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

static uint8_t text[3 * CHECKSUM_PAGE];

static int fill_text(void **state)
{
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)random64(&random);
    return 0;
}

TEST(the_checksum_is_the_crc_32_of_zlib)
{
    assert_int_equal(checksum((const uint8_t *)"123456789", 9), 0xCBF43926);
    assert_int_equal(checksum(NULL, 0), 0);
    static const size_t sizes[] = { 1, 2, 3, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097, sizeof text };
    for (size_t i = 0; i < ROWS(sizes); i++)
        assert_int_equal(checksum(text, sizes[i]), reference_crc(text, sizes[i]));
}

TEST(the_checksums_of_pages_combine_to_that_of_the_whole)
{
    for (size_t size = 64; size <= sizeof text; size += 64) {
        struct checksum_sum sum = { 0 };
        for (size_t at = 0; at < size; at += CHECKSUM_PAGE) {
            size_t page = size - at < CHECKSUM_PAGE ? size - at : CHECKSUM_PAGE;
            checksum_append(&sum, checksum(text + at, page), page);
        }
        assert_int_equal(sum.crc, checksum(text, size));
    }
}

TEST(checksum_of_a_last_part_of_any_size_is_appended)
{
    static const size_t sizes[] = { 0, 1, 63, 4095, 4096, 4097, 8192 };
    for (size_t i = 0; i < ROWS(sizes); i++) {
        struct checksum_sum sum = { 0 };
        checksum_append(&sum, checksum(text, CHECKSUM_PAGE), CHECKSUM_PAGE);
        checksum_append(&sum, checksum(text + CHECKSUM_PAGE, sizes[i]), sizes[i]);
        assert_int_equal(sum.crc, checksum(text, CHECKSUM_PAGE + sizes[i]));
    }
}

TEST(partial_last_page_has_a_checksum)
{
    static const struct {
        uint64_t size, pages, last;
    } rows[] = {
        { 0, 0, 0 },
        { 1, 1, 1 },
        { 64, 1, 64 },
        { 4095, 1, 4095 },
        { 4096, 1, 4096 },
        { 4097, 2, 1 },
        { 8192, 2, 4096 },
        { 8193, 3, 1 },
        { 1ULL << 57, 1ULL << 45, 4096 },
        { (1ULL << 57) + 1, (1ULL << 45) + 1, 1 },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        assert_int_equal(checksum_pages(rows[i].size), rows[i].pages);
        if (rows[i].pages > 0)
            assert_int_equal(checksum_page_size(rows[i].size, rows[i].pages - 1), rows[i].last);
        if (rows[i].pages > 1)
            assert_int_equal(checksum_page_size(rows[i].size, 0), 4096);
    }
}

/* Combining with a CRC-32 of 0 only shifts. */
TEST(checksum_of_a_part_above_4_gib_is_appended)
{
    const uint64_t pages[] = { 1u << 18, (1u << 18) + 1, 5u << 18 };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        struct checksum_sum one = { 0 }, each = { 0 };
        checksum_append(&one, 0x12345678, CHECKSUM_PAGE);
        checksum_append(&one, 0x9abcdef0, pages[i] * CHECKSUM_PAGE);
        checksum_append(&each, 0x12345678, CHECKSUM_PAGE);
        for (uint64_t page = 1; page < pages[i]; page++)
            checksum_append(&each, 0, CHECKSUM_PAGE);
        checksum_append(&each, 0x9abcdef0, CHECKSUM_PAGE);
        assert_int_equal(one.crc, each.crc);
    }
}

int main(void)
{
    return run_all(fill_text, NULL);
}
