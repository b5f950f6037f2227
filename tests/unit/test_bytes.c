/* SPDX-License-Identifier: MIT
 * Integers in images: least significant byte first, at any alignment. */
#include "support.h"

#include "format/bytes.h"

static const uint8_t in_order[] = { 0xF8, 0x01, 0x82, 0x03, 0x84, 0x05, 0x86, 0x07, 0x88 };

TEST(integers_are_read_least_significant_byte_first)
{
    assert_int_equal(get32(in_order), 0x038201F8);
    assert_int_equal(get64(in_order), 0x07860584038201F8);
}

TEST(integers_are_read_at_any_alignment)
{
    assert_int_equal(get32(in_order + 1), 0x84038201);
    assert_int_equal(get64(in_order + 1), 0x8807860584038201u);
}

TEST(integers_are_written_least_significant_byte_first_within_bounds)
{
    uint8_t bytes[11] = { 0 };
    put32(bytes + 1, 0x84038201);
    assert_memory_equal(bytes, ((uint8_t[]){ 0, 0x01, 0x82, 0x03, 0x84, 0 }), 6);
    put64(bytes + 1, 0x8807860584038201u);
    assert_memory_equal(bytes + 1, in_order + 1, 8);
    assert_int_equal(bytes[0] | bytes[9] | bytes[10], 0);
}

int main(void)
{
    return run_all(NULL, NULL);
}
