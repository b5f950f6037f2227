/* SPDX-License-Identifier: MIT
 * Bits and hashes for a number of keys and a rate. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <math.h>
#include <stdlib.h>

#include "image/params.h"

/* Rates that differ by less are equal: sizes.md. */
static const double margin = 1.0 / (1 << 26);

static uint64_t unit_of(uint32_t layout)
{
    return layout == BLOOMFILE_LAYOUT_BLOCKED ? 512 : 1;
}

/* The rate with the best k. */
static double best_rate(uint32_t layout, uint64_t m, uint64_t n)
{
    double best = 1;
    for (uint32_t k = 1; k <= BLOOMFILE_MAX_HASHES; k++)
        best = fmin(best, fpr_for(layout, m, k, n));
    return best;
}

TEST(computed_bits_keep_the_rate_and_fewer_bits_do_not)
{
    static const uint64_t counts[] = { 1, 2, 100, 586, 1000000, 100000000000 };
    static const double rates[] = { 0.5, 0.01, 0.0001, 1e-6 };
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_CLASSIC; layout++) {
        for (size_t i = 0; i < ROWS(counts); i++) {
            for (size_t r = 0; r < ROWS(rates); r++) {
                uint64_t m = bits_for(layout, counts[i], rates[r], 0);
                uint64_t units = m / unit_of(layout), fewer = units - units / 200 - 1;
                assert_int_equal(m % unit_of(layout), 0);
                assert_int_not_equal(m, 0);
                uint32_t k = hashes_for(layout, m, counts[i]);
                assert_true(fpr_for(layout, m, k, counts[i]) <= rates[r] * (1 + margin));
                if (fewer > 0)
                    assert_true(best_rate(layout, fewer * unit_of(layout), counts[i]) > rates[r]);
            }
        }
    }
}

TEST(computed_bits_keep_the_rate_for_given_hashes)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_CLASSIC; layout++) {
        for (uint32_t k = 1; k <= 20; k++) {
            uint64_t m = bits_for(layout, 20000, 0.01, k);
            uint64_t units = m / unit_of(layout), fewer = units - units / 200 - 1;
            assert_true(fpr_for(layout, m, k, 20000) <= 0.01 * (1 + margin));
            assert_true(fpr_for(layout, fewer * unit_of(layout), k, 20000) > 0.01);
        }
    }
}

TEST(chosen_number_of_hashes_has_the_lowest_rate)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_CLASSIC; layout++)
        for (uint64_t m = 512; m <= 512 << 12; m *= 4)
            for (uint64_t n = 1; n < m; n = n * 5 / 2 + 1)
                assert_true(fpr_for(layout, m, hashes_for(layout, m, n), n) <=
                            best_rate(layout, m, n) * 1.000001);
}

/* Where the size has several local minima over the number of hashes. */
TEST(no_other_number_of_hashes_needs_fewer_bits)
{
    static const struct {
        uint64_t n;
        double fpr;
    } rows[] = { { 52, 0.0124 }, { 115, 0.01493 }, { 5, 2.95e-12 }, { 7, 8.89e-10 } };
    for (size_t i = 0; i < ROWS(rows); i++) {
        const uint64_t m = bits_for(BLOOMFILE_LAYOUT_BLOCKED, rows[i].n, rows[i].fpr, 0);
        for (uint32_t k = 1; k <= BLOOMFILE_MAX_HASHES; k++)
            assert_true(bits_for(BLOOMFILE_LAYOUT_BLOCKED, rows[i].n, rows[i].fpr, k) >= m);
    }
}

/* Fills the stack, so that members which the next call does not set have this value. */
static __attribute__((noinline)) void fill_stack(uint32_t value)
{
    volatile uint32_t room[1 << 14];
    for (size_t i = 0; i < ROWS(room); i++)
        room[i] = value;
}

TEST(sizes_do_not_depend_on_uninitialized_memory)
{
    for (uint32_t k = 1; k <= 20; k++) {
        fill_stack(0);
        const uint64_t bits = bits_for(BLOOMFILE_LAYOUT_BLOCKED, 1000, 0.01, k);
        const double rate = fpr_for(BLOOMFILE_LAYOUT_BLOCKED, 512 * 30, k, 1000);
        fill_stack(k);
        assert_int_equal(bits_for(BLOOMFILE_LAYOUT_BLOCKED, 1000, 0.01, k), bits);
        fill_stack(k);
        assert_true(fpr_for(BLOOMFILE_LAYOUT_BLOCKED, 512 * 30, k, 1000) == rate);
    }
}

TEST(counting_filter_has_as_many_counters_as_a_classic_filter_bits)
{
    for (uint64_t n = 1; n < 1ULL << 40; n *= 77) {
        uint64_t m = bits_for(BLOOMFILE_LAYOUT_CLASSIC, n, 0.02, 0);
        assert_int_equal(bits_for(BLOOMFILE_LAYOUT_COUNTING, n, 0.02, 0), m);
        assert_int_equal(hashes_for(BLOOMFILE_LAYOUT_COUNTING, m, n),
                         hashes_for(BLOOMFILE_LAYOUT_CLASSIC, m, n));
    }
}

TEST(ten_bits_per_key_give_a_rate_of_about_1_percent)
{
    assert_in_range(bits_for(BLOOMFILE_LAYOUT_CLASSIC, 1000000, 0.01, 0), 9585000, 9640000);
    assert_in_range(bits_for(BLOOMFILE_LAYOUT_BLOCKED, 1000000, 0.01, 0), 9800000, 10200000);
    assert_int_equal(hashes_for(BLOOMFILE_LAYOUT_CLASSIC, 10000000, 1000000), 7);
}

TEST(more_keys_or_a_lower_rate_need_no_fewer_bits)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_CLASSIC; layout++) {
        uint64_t last = 0;
        for (uint64_t n = 1; n < 1ULL << 55; n = n * 5 + 1) {
            uint64_t m = bits_for(layout, n, 0.02, 0);
            assert_true(m > last || (layout == BLOOMFILE_LAYOUT_BLOCKED && m == 512));
            last = m;
        }
        last = 0;
        for (double p = 0.9; p > 1e-6; p *= 0.5) {
            uint64_t m = bits_for(layout, 100000, p, 0);
            assert_true(m > last);
            last = m;
        }
    }
}

static unsigned divisors(uint64_t x)
{
    unsigned count = 0;
    for (uint64_t i = 1; i * i <= x; i++)
        count += x % i != 0 ? 0 : i * i == x ? 1 : 2;
    return count;
}

TEST(large_sizes_have_many_divisors)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_CLASSIC; layout++) {
        for (uint64_t n = 100; n < 1ULL << 40; n *= 7) {
            uint64_t units = bits_for(layout, n, 0.01, 0) / unit_of(layout);
            static const struct {
                uint64_t from;
                unsigned divisors;
            } steps[] = { { 100000000, 200 }, { 1000000, 60 }, { 50000, 20 }, { 10000, 10 } };
            unsigned step = 0;
            while (step < ROWS(steps) && units < steps[step].from)
                step++;
            if (step < ROWS(steps))
                assert_true(divisors(units) >= steps[step].divisors);
            if (units > 201 * 720720) { /* 720720, and from there on its doubles */
                uint64_t multiple = 720720;
                while (multiple * 402 < units)
                    multiple *= 2;
                assert_int_equal(units % multiple, 0);
            }
        }
    }
}

/* ---- bytes, and keys that fit */

static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                    BLOOMFILE_LAYOUT_COUNTING, BLOOMFILE_LAYOUT_RIBBON };

TEST(sizes_in_bytes_match_the_builder)
{
    static const uint64_t counts[] = { 1, 500, 20000 };
    for (size_t l = 0; l < ROWS(layouts); l++)
        for (size_t i = 0; i < ROWS(counts); i++)
            for (int by_hand = 0; by_hand < 2; by_hand++) {
                struct bloomfile_params params = { .struct_size = sizeof params,
                                                   .layout = layouts[l],
                                                   .bits = by_hand ? 512 * 900 : 0,
                                                   .fpr = 0.003 };
                struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
                size.layout = layouts[l];
                size.keys = counts[i];
                size.bits = params.bits;
                size.fpr = 0.003;
                assert_error(bloomfile_size_for(&size), 0);
                bloomfile_builder *b = new_builder(params);
                add_numbers(b, 0, counts[i]);
                struct bytes file = finish_file(b), image = last_image(b);
                assert_int_equal(file.size, size.file_size);
                assert_int_equal(image.size, size.image_size);
                const struct bloomfile_info info = verified_info(image);
                assert_int_equal(info.bits, size.bits);
                assert_int_equal(info.hashes, size.hashes);
                free(file.data);
                free(image.data);
            }
}

TEST(computed_keys_keep_the_rate_and_one_more_key_does_not)
{
    for (size_t l = 0; l < ROWS(layouts); l++)
        for (uint32_t k = 0; k <= 7; k += 7) {
            struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
            size.layout = layouts[l];
            size.bits = 512 * 1000;
            size.hashes = layouts[l] == BLOOMFILE_LAYOUT_RIBBON ? 0 : k;
            size.fpr = 0.001;
            assert_error(bloomfile_size_for(&size), 0);
            assert_true(size.fpr <= 0.001 * (1 + margin));
            struct bloomfile_size more = size;
            more.hashes = layouts[l] == BLOOMFILE_LAYOUT_RIBBON ? 0 : k;
            more.keys++;
            assert_error(bloomfile_size_for(&more), 0);
            assert_true(more.fpr > 0.001);
        }
}

TEST(size_for_of_its_own_result_changes_nothing)
{
    for (size_t l = 0; l < ROWS(layouts); l++) {
        struct bloomfile_size size = BLOOMFILE_SIZE_INIT, again;
        size.layout = layouts[l];
        size.keys = 30000;
        assert_error(bloomfile_size_for(&size), 0);
        again = size;
        assert_error(bloomfile_size_for(&again), 0);
        again.file_size = size.file_size; /* a ribbon file with a given number of bits is smaller */
        assert_memory_equal(&again, &size, sizeof size);
    }
}

TEST(size_for_accepts_its_own_result_at_a_rate_of_1)
{
    struct bloomfile_size size = {
        .struct_size = sizeof size, .layout = BLOOMFILE_LAYOUT_CLASSIC, .bits = 512, .keys = 1000000
    };
    assert_error(bloomfile_size_for(&size), 0);
    assert_true(size.fpr == 1);
    assert_error(bloomfile_size_for(&size), 0);
}

TEST(invalid_member_of_a_size_is_named_and_nothing_changes)
{
    static const struct {
        const char *name;
        struct bloomfile_size size;
    } rows[] = {
        { "layout", { .layout = 5, .keys = 1 } },
        { "hashes", { .hashes = 65, .keys = 1 } },
        { "hashes", { .layout = BLOOMFILE_LAYOUT_RIBBON, .hashes = 1, .keys = 1 } },
        { "bits", { .bits = 513, .keys = 1 } },
        { "keys", { .fpr = 0.01 } },
        { "keys", { .keys = (1ULL << 60) + 1, .fpr = 0.9 } },
        { "fpr", { .keys = 1, .fpr = 1 } },
        { "want_spread", { .keys = 1, .want_spread = 2 } },
        { "reserved", { .keys = 1, .reserved = 1 } },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct bloomfile_size size = rows[i].size;
        size.struct_size = sizeof size;
        const struct bloomfile_size before = size;
        assert_error(bloomfile_size_for(&size), BLOOMFILE_EVALUE);
        assert_string_equal(bloomfile_invalid(), rows[i].name);
        assert_memory_equal(&size, &before, sizeof size);
    }
    struct bloomfile_size unset = { .keys = 1 };
    assert_error(bloomfile_size_for(&unset), BLOOMFILE_ESTRUCTSIZE);
    struct bloomfile_size low = BLOOMFILE_SIZE_INIT;
    low.keys = 1;
    low.fpr = 1e-20;
    assert_error(bloomfile_size_for(&low), BLOOMFILE_EUNREACHABLE);
}

/* ---- ends of the ranges */

TEST(arguments_out_of_range_are_refused)
{
    const uint32_t classic = BLOOMFILE_LAYOUT_CLASSIC, unknown = 5;
    assert_int_equal(bits_for(unknown, 10, 0.01, 0), 0);
    assert_int_equal(bits_for(classic, 0, 0.01, 0), 0);
    assert_int_equal(bits_for(classic, (1ULL << 60) + 1, 0.9, 0), 0);
    assert_int_equal(bits_for(classic, 10, 0.01, 65), 0);
    static const double no_rates[] = { -1, 1, 2, NAN, -NAN, INFINITY, -INFINITY };
    for (size_t i = 0; i < ROWS(no_rates); i++)
        assert_int_equal(bits_for(classic, 10, no_rates[i], 0), 0);

    assert_true(isnan(fpr_for(unknown, 512, 1, 1)));
    assert_true(isnan(fpr_for(classic, 0, 1, 1)));
    assert_true(isnan(fpr_for(classic, BLOOMFILE_MAX_BITS + 1, 1, 1)));
    assert_true(isnan(fpr_for(BLOOMFILE_LAYOUT_BLOCKED, 513, 1, 1)));
    assert_true(isnan(fpr_for(classic, 512, 65, 1)));

    assert_int_equal(hashes_for(unknown, 512, 1), 0);
    assert_int_equal(hashes_for(classic, 0, 1), 0);
    assert_int_equal(hashes_for(classic, 512, 0), 0);
    assert_int_equal(hashes_for(BLOOMFILE_LAYOUT_BLOCKED, 511, 1), 0);
    assert_int_equal(hashes_for(classic, BLOOMFILE_MAX_BITS + 1, 1), 0);
}

TEST(layout_0_is_blocked)
{
    const uint32_t none = 0;
    assert_int_equal(bits_for(none, 1000, 0.01, 0),
                     bits_for(BLOOMFILE_LAYOUT_BLOCKED, 1000, 0.01, 0));
    assert_true(fpr_for(none, 5120, 6, 500) == fpr_for(BLOOMFILE_LAYOUT_BLOCKED, 5120, 6, 500));
    assert_int_equal(hashes_for(none, 5120, 500), hashes_for(BLOOMFILE_LAYOUT_BLOCKED, 5120, 500));
}

TEST(sizes_for_extreme_arguments_keep_the_rate)
{
    static const struct {
        uint64_t n;
        double rate;
        bool classic, blocked; /* a filter can reach this rate */
    } rows[] = {
        { 1, 0.999999, true, true },        { 1ULL << 60, 0.999999, true, true },
        { 1ULL << 60, 0.01, false, false }, { 1ULL << 56, 0.01, true, true },
        { 1, 1e-19, true, true },           { 1, 1.0 / (1ULL << 32) / (1ULL << 32), false, false },
        { 1000000, 1e-13, true, true },     { 1000000, 5e-14, false, false },
        { 1, 4.9e-324, false, false },      { 1ULL << 58, 0.02, false, false },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_CLASSIC;
             layout++) {
            uint64_t m = bits_for(layout, rows[i].n, rows[i].rate, 0);
            bool reachable = layout == BLOOMFILE_LAYOUT_BLOCKED ? rows[i].blocked : rows[i].classic;
            assert_int_equal(m != 0, reachable);
            if (!reachable)
                continue;
            assert_true(m <= BLOOMFILE_MAX_BITS);
            uint32_t k = hashes_for(layout, m, rows[i].n);
            assert_in_range(k, 1, BLOOMFILE_MAX_HASHES);
            assert_true(fpr_for(layout, m, k, rows[i].n) <= rows[i].rate * (1 + margin));
        }
    }
}

TEST(largest_number_of_keys_is_not_rounded_beyond_the_limit)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_CLASSIC; layout++) {
        uint64_t fits = 1ULL << 58, too_many = 1ULL << 60;
        while (too_many - fits > 1) {
            uint64_t n = fits + (too_many - fits) / 2;
            if (bits_for(layout, n, 0.5, 1) != 0)
                fits = n;
            else
                too_many = n;
        }
        uint64_t m = bits_for(layout, fits, 0.5, 1);
        assert_in_range(m, BLOOMFILE_MAX_BITS - 1000000, BLOOMFILE_MAX_BITS);
        assert_true(fpr_for(layout, m, 1, fits) <= 0.5 * (1 + margin));
    }
    /* For 720720 * 2^9, the next multiple is beyond 2^60; for 720720 * 2^8 it is not. */
    assert_int_equal(bits_for(BLOOMFILE_LAYOUT_BLOCKED, 751210847354748928, 0.5, 1),
                     1152921478826557440);
}

TEST(rate_of_more_keys_than_bits_is_1)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING;
         layout++) {
        assert_true(fpr_for(layout, 512, 64, UINT64_MAX) == 1);
        assert_true(fpr_for(layout, 1024, 1, UINT64_MAX) == 1);
        assert_int_equal(hashes_for(layout, 512, UINT64_MAX), 1);
    }
}

static uint64_t bits_planned(uint64_t keys, uint32_t header_size)
{
    const struct bloomfile_params given = { .struct_size = sizeof given,
                                            .layout = BLOOMFILE_LAYOUT_RIBBON,
                                            .capacity = keys };
    struct bloomfile_params p;
    struct header h;
    assert_error(params_take(&p, &given), 0);
    assert_error(params_plan(&p, 0, header_size, &h), 0);
    return h.m;
}

TEST(ribbon_file_has_whole_pages_and_no_unneeded_page)
{
    const uint64_t page = (uint64_t)8 * 4096;
    unsigned whole_already = 0;
    for (uint64_t keys = 4000; keys < 10000; keys += 20) {
        const uint64_t least = bits_planned(keys, EMBEDDED), m = bits_planned(keys, IN_FILE);
        assert_int_equal(m % page, 0);
        assert_true(m >= least && m - least < page);
        whole_already += m == least;
    }
    assert_int_not_equal(whole_already, 0);
}

int main(void)
{
    return run_all(enter_temp_dir, leave_temp_dir);
}
