/* SPDX-License-Identifier: MIT
 * Of equal values one is left. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "build/distinct.h"
#include "build/sort.h"

typedef uint64_t shape(uint64_t i, uint64_t *random);

static uint64_t scattered(uint64_t i, uint64_t *random)
{
    (void)i;
    return random64(random);
}

static uint64_t scattered_in_a_partition(uint64_t i, uint64_t *random)
{
    (void)i;
    return 0xABC0000000000000 | random64(random) >> 11;
}

static uint64_t each_twice(uint64_t i, uint64_t *random)
{
    (void)random;
    return i / 2 * 0x0123456789ABCDEF;
}

static uint64_t one_among_many_twice(uint64_t i, uint64_t *random)
{
    return i == 7 ? 0x9E3779B97F4A7C15 : i == 90 ? 0x9E3779B97F4A7C15 : random64(random);
}

static uint64_t often_repeated(uint64_t i, uint64_t *random)
{
    (void)i;
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

/* The products with the first multiplier are i, so that all share a slot. */
static uint64_t in_one_slot(uint64_t i, uint64_t *random)
{
    (void)random;
    return i % 1000 * 0xF1DE83E19937733D;
}

static shape *const shapes[] = { scattered,      scattered_in_a_partition,
                                 each_twice,     one_among_many_twice,
                                 often_repeated, equal,
                                 all_zero,       in_one_slot };

static void each_value_is_left_once(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_is_left_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
