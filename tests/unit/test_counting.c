/* SPDX-License-Identifier: MIT
 * Keys that are added and removed again, compared with an exact count of them. */
#include "support.h"
#include "workers.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static bloomfile_filter *make_filter(uint64_t counters, uint32_t k)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = BLOOMFILE_LAYOUT_COUNTING;
    params.bits = counters;
    params.hashes = k;
    assert_error(bloomfile_create(&f, "filter", &params,
                                  BLOOMFILE_TO_REPLACE | BLOOMFILE_OPEN_OVER_CAPACITY),
                 0);
    return f;
}

static int add(bloomfile_filter *f, uint64_t i)
{
    uint8_t room[8];
    struct bytes key = number_key(i, room);
    return bloomfile_add(f, key.data, key.size, NULL);
}

static int take_back(bloomfile_filter *f, uint64_t i)
{
    uint8_t room[8];
    struct bytes key = number_key(i, room);
    return bloomfile_remove(f, key.data, key.size);
}

static bool has(const bloomfile_filter *f, uint64_t i)
{
    uint8_t room[8];
    struct bytes key = number_key(i, room);
    return bloomfile_contains(f, key.data, key.size);
}

TEST_IN_DIR(key_is_absent_after_its_last_removal)
{
    bloomfile_filter *f = make_filter(10007, 7);
    for (int times = 1; times <= 14; times++) {
        for (int i = 0; i < times; i++)
            assert_error(add(f, 1), 0);
        for (int i = 0; i < times; i++) {
            assert_true(has(f, 1));
            assert_error(take_back(f, 1), 0);
        }
        assert_false(has(f, 1));
        assert_int_equal(info_of(f).keys, 0);
        assert_int_equal(info_of(f).ones, 0);
        assert_error(take_back(f, 1), BLOOMFILE_EABSENT);
    }
    bloomfile_close(f);
}

/* L6, L8. dablooms fails here: its counter stops at 15, but is lowered from there. */
TEST_IN_DIR(saturated_counter_never_loses_its_keys)
{
    bloomfile_filter *f = make_filter(10007, 7);
    for (int i = 0; i < 20; i++)
        assert_error(add(f, 1), 0);
    assert_int_equal(info_of(f).overflow, 7);
    for (int i = 0; i < 15; i++)
        assert_error(take_back(f, 1), 0);
    assert_true(has(f, 1));
    for (int i = 0; i < 5; i++)
        assert_error(take_back(f, 1), 0);
    assert_true(has(f, 1));
    assert_int_equal(info_of(f).overflow, 7);
    bloomfile_close(f);
}

static uint32_t body_sum(const bloomfile_filter *f)
{
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", BLOOMFILE_TO_REPLACE), f, NULL), 0);
    bloomfile_filter *copy;
    assert_error(bloomfile_open(&copy, "copy", 0), 0);
    uint32_t crc = info_of(copy).body_crc;
    bloomfile_close(copy);
    return crc;
}

/* L8. */
TEST_IN_DIR(a_key_that_is_certainly_absent_cannot_be_removed)
{
    bloomfile_filter *f = make_filter(1000, 5);
    for (uint64_t i = 0; i < 60; i++)
        assert_error(add(f, i), 0);
    uint32_t before = body_sum(f);
    unsigned refused = 0;
    for (uint64_t i = 1000; i < 3000; i++)
        if (!has(f, i)) {
            assert_error(take_back(f, i), BLOOMFILE_EABSENT);
            refused++;
        }
    assert_true(refused > 1900);
    assert_int_equal(body_sum(f), before);
    assert_int_equal(info_of(f).keys, 60);
    bloomfile_close(f);
}

/* L6, L8. If counters are few, several positions of a key fall on the same counter. It must be
 * that high for the key to be present. */
TEST_IN_DIR(removal_needs_a_counter_as_high_as_the_positions_of_the_key_in_it)
{
    bloomfile_filter *f = make_filter(3, 4);
    unsigned refused_though_maybe = 0;
    for (uint64_t i = 0; i < 200; i++) {
        assert_error(add(f, i), 0);
        for (uint64_t other = 0; other < 50; other++)
            if (other != i && take_back(f, other) == BLOOMFILE_EABSENT)
                refused_though_maybe += has(f, other);
            else if (other != i)
                assert_error(add(f, other), 0);
        assert_error(take_back(f, i), 0);
        assert_int_equal(info_of(f).ones, 0);
    }
    assert_true(refused_though_maybe > 0);
    bloomfile_close(f);
}

/* ---- against an exact count */

#define UNIVERSE   4000
#define OPERATIONS 1000000

static void assert_agrees(const bloomfile_filter *f, const unsigned *count)
{
    for (uint64_t i = 0; i < UNIVERSE; i++)
        if (count[i] > 0)
            assert_true(has(f, i));
}

static void operate(uint64_t counters, uint32_t k, unsigned most, bool overflows)
{
    bloomfile_filter *f = make_filter(counters, k);
    unsigned *count = calloc(UNIVERSE, sizeof *count);
    uint64_t random = 1;
    for (unsigned i = 0; i < OPERATIONS; i++) {
        uint64_t key = random64(&random) % UNIVERSE;
        bool adds = count[key] == 0 || (count[key] < most && random64(&random) % 2 == 0);
        if (adds)
            assert_error(add(f, key), 0);
        else
            assert_error(take_back(f, key), 0);
        count[key] += adds ? 1u : -1u;
        if (count[key] > 0)
            assert_true(has(f, key));
        if (i % 20000 == 0)
            assert_agrees(f, count);
    }
    assert_agrees(f, count);
    assert_int_equal(info_of(f).overflow > 0, overflows);
    for (uint64_t key = 0; key < UNIVERSE; key++)
        for (; count[key] > 0; count[key]--)
            assert_error(take_back(f, key), 0);
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    assert_error(bloomfile_measure(f, &measure), 0);
    assert_int_equal(measure.ones, info_of(f).ones);
    if (overflows)
        assert_true(measure.ones >= info_of(f).overflow);
    else
        assert_int_equal(measure.ones, 0);
    free(count);
    bloomfile_close(f);
}

TEST_IN_DIR(million_adds_and_removals_lose_no_key)
{
    operate(8 * UNIVERSE, 6, 2, false);
    operate(2 * UNIVERSE, 3, 9, true);
    operate(UNIVERSE / 4, 4, 30, true);
}

/* ---- several writers */

#define STAYING 500

static int add_and_remove(bloomfile_filter *f, unsigned worker, void *context)
{
    atomic_uint *missing = context;
    for (uint64_t i = 0; i < 30000; i++) {
        uint64_t key = STAYING + (worker % 2) * 50 + i % 50; /* shared by two workers */
        if (add(f, key) != 0 || take_back(f, key) != 0)
            return 1;
        *missing += !has(f, i % STAYING);
    }
    return 0;
}

TEST_IN_DIR(concurrent_removers_keep_all_other_keys)
{
    static const unsigned groups[][2] = { { 1, 4 }, { 4, 1 } };
    for (size_t c = 0; c < ROWS(groups); c++) {
        bloomfile_filter *f = make_filter(6000, 5);
        for (uint64_t i = 0; i < STAYING; i++)
            assert_error(add(f, i), 0);
        uint32_t before = body_sum(f);
        bloomfile_close(f);
        atomic_uint *missing = shared_memory(sizeof *missing);
        workers_run(&(struct workers){ .processes = groups[c][0],
                                       .threads = groups[c][1],
                                       .path = "filter",
                                       .work = add_and_remove,
                                       .context = missing });
        assert_int_equal(*missing, 0);
        release_shared_memory(missing, sizeof *missing);
        assert_error(bloomfile_open(&f, "filter", 0), 0);
        assert_int_equal(body_sum(f), before);
        bloomfile_close(f);
    }
}

/* L22. */
TEST_IN_DIR(contradictory_counts_are_marked_as_estimates)
{
    bloomfile_filter *adder = make_filter(1000, 5), *remover;
    assert_error(add(adder, 1), 0);
    assert_error(bloomfile_open(&remover, "filter", BLOOMFILE_OPEN_WRITE), 0);
    assert_error(take_back(remover, 1), 0);
    bloomfile_close(remover); /* 0 - 1 keys: the add was not committed yet */
    assert_error(bloomfile_open(&remover, "filter", 0), 0);
    assert_int_equal(info_of(remover).keys, 0);
    assert_int_equal(info_of(remover).ones, 0);
    bloomfile_close(remover);
    bloomfile_close(adder);
    assert_error(bloomfile_open(&adder, "filter", BLOOMFILE_OPEN_WRITE), 0);
    assert_int_equal(info_of(adder).keys_estimated, 1);
    assert_error(bloomfile_seal(adder, NULL), 0);
    assert_int_equal(info_of(adder).keys, 0);
    bloomfile_close(adder);
}

/* ---- projection */

TEST_IN_DIR(projection_equals_a_classic_build_of_the_same_keys)
{
    static const uint64_t sizes[] = { 1, 2, 7, 8, 9, 4095, 32768, 100003, 9 * 4096 * 8 + 5 };
    for (size_t s = 0; s < ROWS(sizes); s++) {
        bloomfile_filter *f = make_filter(sizes[s], 5);
        bloomfile_builder *b = new_builder((struct bloomfile_params){
            .layout = BLOOMFILE_LAYOUT_CLASSIC, .bits = sizes[s], .hashes = 5 });
        for (uint64_t i = 0; i < sizes[s] / 10 + 1; i++) {
            assert_error(add(f, i), 0);
            if (i % 3 == 0)
                assert_error(add(f, i), 0);
        }
        add_numbers(b, 0, sizes[s] / 10 + 1);
        for (uint64_t i = 5000000; i < 5000100; i++) {
            assert_error(add(f, i), 0);
            if (info_of(f).overflow == 0)
                assert_error(take_back(f, i), 0);
        }
        if (info_of(f).overflow > 0)
            add_numbers(b, 5000000, 5000100);
        assert_error(bloomfile_project(TO_PATH("projection", BLOOMFILE_TO_REPLACE), f, NULL), 0);
        assert_error(bloomfile_builder_write(b, TO_PATH("plain", BLOOMFILE_TO_REPLACE)), 0);
        struct bytes projection = read_file("projection"), plain = read_file("plain");
        assert_int_equal(projection.size, plain.size);
        assert_memory_equal(projection.data + IN_FILE, plain.data + IN_FILE, plain.size - IN_FILE);
        bloomfile_filter *p;
        assert_error(bloomfile_open(&p, "projection", BLOOMFILE_OPEN_VERIFY_FULL), 0);
        assert_int_equal(info_of(p).layout, BLOOMFILE_LAYOUT_CLASSIC);
        assert_int_equal(info_of(p).provenance, BLOOMFILE_PROVENANCE_PROJECTION);
        assert_int_equal(info_of(p).keys, info_of(f).keys);
        bloomfile_close(p);
        free(projection.data);
        free(plain.data);
        bloomfile_builder_free(b);
        bloomfile_close(f);
    }
}

TEST_IN_DIR(only_counting_filters_remove_keys)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = 100;
    assert_error(bloomfile_create(&f, "filter", &params, 0), 0);
    assert_error(add(f, 1), 0);
    assert_error(take_back(f, 1), BLOOMFILE_ENOTCOUNTING);
    assert_error(bloomfile_project(TO_PATH("projection", 0), f, NULL), BLOOMFILE_ENOTCOUNTING);
    assert_true(has(f, 1));
    bloomfile_close(f);

    bloomfile_close(make_filter(100, 3));
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    assert_error(take_back(f, 1), BLOOMFILE_EREADONLY);
    bloomfile_close(f);
}

int main(void)
{
    return run_all(NULL, NULL);
}
