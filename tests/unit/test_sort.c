/* SPDX-License-Identifier: MIT
 * Sorting of values without repeats. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "build/digest_buffer.h"

static int compare(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static size_t reference_sort_unique(uint64_t *values, size_t n)
{
    if (n == 0)
        return 0;
    qsort(values, n, sizeof *values, compare);
    size_t kept = 1;
    for (size_t i = 1; i < n; i++)
        if (values[i] != values[kept - 1])
            values[kept++] = values[i];
    return kept;
}

typedef uint64_t shape(uint64_t i, uint64_t *random);

static void assert_sorts(shape *value)
{
    static const size_t sizes[] = { 0, 1, 2, 3, 31, 32, 33, 34, 255, 256, 257, 1000, 100000 };
    for (size_t s = 0; s < ROWS(sizes); s++) {
        size_t n = sizes[s];
        uint64_t *values = calloc(n + 1, sizeof *values), *expected = calloc(n + 1, sizeof *values);
        assert_non_null(values);
        assert_non_null(expected);
        uint64_t random = n;
        for (size_t i = 0; i < n; i++)
            values[i] = expected[i] = value(i, &random);
        size_t kept = reference_sort_unique(expected, n);
        assert_int_equal(sort_unique(values, n), kept);
        assert_memory_equal(values, expected, kept * sizeof *values);
        free(values);
        free(expected);
    }
}

static uint64_t scattered(uint64_t i, uint64_t *random)
{
    return random64(random);
}

static uint64_t equal(uint64_t i, uint64_t *random)
{
    (void)i, (void)random;
    return 0x8081828384858687;
}

static uint64_t ascending(uint64_t i, uint64_t *random)
{
    return i * 0x0123456789ABCD;
}

static uint64_t descending(uint64_t i, uint64_t *random)
{
    return UINT64_MAX - i * 0x0123456789ABCD;
}

static uint64_t often_repeated(uint64_t i, uint64_t *random)
{
    return random64(random) % 50 << 57;
}

static uint64_t scattered_and_repeated(uint64_t i, uint64_t *random)
{
    return (random64(random) % 700 + 1) * 0x9E3779B97F4A7C15;
}

static uint64_t equal_but_in_the_last_byte(uint64_t i, uint64_t *random)
{
    return 0xF1F2F3F4F5F6F700 | (random64(random) & 0xFF);
}

static uint64_t equal_but_in_the_last_bit(uint64_t i, uint64_t *random)
{
    return 0xF1F2F3F4F5F6F7F6 | (random64(random) & 1);
}

static uint64_t equal_in_the_top_byte(uint64_t i, uint64_t *random)
{
    return 0xAB00000000000000 | random64(random) >> 8;
}

static uint64_t at_both_ends(uint64_t i, uint64_t *random)
{
    return random64(random) % 2 == 0 ? i % 3 : UINT64_MAX - i % 3;
}

TEST(scattered_values_are_sorted)
{
    assert_sorts(scattered);
    assert_sorts(at_both_ends);
}

TEST(equal_values_are_kept_once)
{
    assert_sorts(equal);
    assert_sorts(often_repeated);
    assert_sorts(scattered_and_repeated);
}

TEST(sorted_and_reversed_values_are_sorted)
{
    assert_sorts(ascending);
    assert_sorts(descending);
}

TEST(values_that_share_their_top_bytes_are_sorted)
{
    assert_sorts(equal_in_the_top_byte);
    assert_sorts(equal_but_in_the_last_byte);
    assert_sorts(equal_but_in_the_last_bit);
}

TEST(sorting_no_values_needs_no_memory)
{
    assert_int_equal(sort_unique(NULL, 0), 0);
}

int main(void)
{
    return run_all(NULL, NULL);
}
