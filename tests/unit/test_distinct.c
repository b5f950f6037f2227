/* SPDX-License-Identifier: MIT
 * Removing duplicates: equal values are reduced to a single value. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "build/digest_buffer.h"
#include "build/distinct.h"

typedef uint64_t shape(uint64_t i, uint64_t *random);

static uint64_t scattered(uint64_t i, uint64_t *random)
{
    return random64(random);
}

static uint64_t scattered_in_a_partition(uint64_t i, uint64_t *random)
{
    return 0xABC0000000000000 | random64(random) >> 11;
}

static uint64_t each_twice(uint64_t i, uint64_t *random)
{
    return i / 2 * 0x0123456789ABCDEF;
}

static uint64_t one_among_many_twice(uint64_t i, uint64_t *random)
{
    return i == 7 ? 0x9E3779B97F4A7C15 : i == 90 ? 0x9E3779B97F4A7C15 : random64(random);
}

static uint64_t often_repeated(uint64_t i, uint64_t *random)
{
    return random64(random) % 50 << 57;
}

static uint64_t equal(uint64_t i, uint64_t *random)
{
    (void)i, (void)random;
    return 0x8081828384858687;
}

static uint64_t all_zero(uint64_t i, uint64_t *random)
{
    (void)i, (void)random;
    return 0;
}

/* Their products with the first multiplier are i, so they all share a slot. */
static uint64_t in_one_slot(uint64_t i, uint64_t *random)
{
    return i % 1000 * 0xF1DE83E19937733D;
}

static shape *const shapes[] = { scattered,      scattered_in_a_partition,
                                 each_twice,     one_among_many_twice,
                                 often_repeated, equal,
                                 all_zero,       in_one_slot };

TEST(distinct_keeps_each_value_once)
{
    static const size_t sizes[] = { 0, 1, 2, 64, 65, 100, 1000, 4096, 4097, 50000 };
    for (size_t s = 0; s < ROWS(shapes); s++) {
        for (size_t i = 0; i < ROWS(sizes); i++) {
            const size_t n = sizes[i];
            uint64_t *values = calloc(n + 1, sizeof *values);
            uint64_t *expected = calloc(n + 1, sizeof *expected);
            void *memory = malloc(distinct_memory(n));
            assert_true(values != NULL && expected != NULL && memory != NULL);
            uint64_t random = n;
            for (size_t j = 0; j < n; j++)
                values[j] = expected[j] = shapes[s](j, &random);
            const size_t left = distinct(values, n, memory);
            assert_int_equal(left, sort_unique(expected, n));
            assert_int_equal(left, sort_unique(values, left));
            assert_memory_equal(values, expected, left * sizeof *values);
            free(values);
            free(expected);
            free(memory);
        }
    }
}

static uint64_t a_few_twice(uint64_t i, uint64_t *random)
{
    const uint64_t fresh = random64(random);
    return i % 500 < 2 ? i / 500 * 0x0123456789ABCDEF : fresh;
}

static shape *const rarely_repeated[] = { scattered, scattered_in_a_partition, one_among_many_twice,
                                          a_few_twice, in_one_slot };

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The values that occurred before, and up to `others` more values. */
static size_t suspect(const uint64_t *values, size_t n, size_t others, uint64_t *suspects)
{
    uint64_t *sorted = calloc(n + 1, sizeof *sorted);
    size_t count = 0;
    assert_non_null(sorted);
    memcpy(sorted, values, n * sizeof *values);
    qsort(sorted, n, sizeof *sorted, compare);
    for (size_t i = 1; i < n && count <= distinct_suspects(n); i++)
        if (sorted[i] == sorted[i - 1])
            suspects[count++] = sorted[i];
    free(sorted);
    for (size_t i = 0; i < others && count < distinct_suspects(n); i++)
        suspects[count++] = values[i * 7 % n];
    return count;
}

TEST(distinct_counts_each_repetition_among_suspects)
{
    static const size_t sizes[] = { 1, 2, 64, 65, 100, 500, 4096, 5000, 50000 };
    static const size_t others[] = { 0, 3, 20, 1000 };
    unsigned tried = 0;
    for (size_t t = 0; t < ROWS(sizes) * ROWS(others) * ROWS(rarely_repeated); t++) {
        const size_t n = sizes[t / ROWS(others) / ROWS(rarely_repeated)];
        uint64_t random = n, *values = calloc(n + 1, sizeof *values);
        const size_t size = distinct_memory(n), behind = n * sizeof *values;
        uint8_t *memory = malloc(size + behind);
        assert_true(values != NULL && memory != NULL);
        memset(memory + size, 77, behind);
        for (size_t i = 0; i < n; i++)
            values[i] = rarely_repeated[t % ROWS(rarely_repeated)](i, &random);
        const size_t count =
            suspect(values, n, others[t / ROWS(rarely_repeated) % ROWS(others)], (void *)memory);
        if (count <= distinct_suspects(n)) {
            tried++;
            const size_t repeated = distinct_repetitions(values, n, count, memory);
            assert_int_equal(repeated, n - sort_unique(values, n));
            for (size_t i = 0; i < behind; i++)
                assert_int_equal(memory[size + i], 77);
        }
        free(values);
        free(memory);
    }
    assert_true(tried > 120);
}

int main(void)
{
    return run_all(NULL, NULL);
}
