/* SPDX-License-Identifier: MIT
 * Rates, compared with published values, with enumeration and with a second computation. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <math.h>
#include <stdlib.h>

#include "sizing/sizing.h"

static void assert_close(double value, double expected, double tolerance, const char *what)
{
    if (!(fabs(value - expected) <= tolerance * fabs(expected)))
        fail_msg("%s: %.17g, expected %.17g", what, value, expected);
}

/* An absent key may have the same 64-bit digest as any of n present keys. */
static double with_equal_digests(double rate, uint64_t n)
{
    return rate + (1 - rate) * ldexp((double)n, -64);
}

TEST(rates_match_the_published_table)
{
    static const struct {
        uint64_t bits_per_key;
        uint32_t k;
        double percent;
    } rows[] = {
        { 20, 6, 0.0303 },  { 20, 10, 0.0089 }, { 20, 14, 0.0067 },
        { 20, 20, 0.0104 }, { 10, 7, 0.819 },   { 5, 3, 9.18 },
        { 2, 1, 39.3 },     { 2, 2, 40.0 },     { 2, 5, 65.2 },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        double rate =
            fpr_for(BLOOMFILE_LAYOUT_CLASSIC, rows[i].bits_per_key * 80000, rows[i].k, 80000);
        assert_close(100 * rate, rows[i].percent, 0.007, "published");
        assert_true(fpr_for(BLOOMFILE_LAYOUT_COUNTING, rows[i].bits_per_key * 80000, rows[i].k,
                            80000) == rate);
    }
}

/* The share of all placements in which every probe of the absent key meets an inserted probe. */
static double enumerated_rate(unsigned m, unsigned k, unsigned n)
{
    unsigned ways = 1, found = 0;
    for (unsigned i = 0; i < k * (n + 1); i++)
        ways *= m;
    for (unsigned way = 0; way < ways; way++) {
        unsigned rest = way, inserted = 0, absent = 0;
        for (unsigned i = 0; i < k * n; i++, rest /= m)
            inserted |= 1u << rest % m;
        for (unsigned i = 0; i < k; i++, rest /= m)
            absent |= 1u << rest % m;
        found += (absent & ~inserted) == 0;
    }
    return (double)found / ways;
}

TEST(tiny_filters_have_the_enumerated_rate)
{
    for (unsigned m = 1; m <= 5; m++)
        for (unsigned k = 1; k <= 3; k++)
            for (unsigned n = 1; k * (n + 1) <= 8; n++)
                assert_close(fpr_for(BLOOMFILE_LAYOUT_CLASSIC, m, k, n), enumerated_rate(m, k, n),
                             1e-12, "enumerated");
}

/* The mean of (set cells / cells)^k over the number of cells that this many throws fill.
 * Continues from the throws of the last call. */
struct occupancy {
    unsigned cells, thrown;
    double filled[4097]; /* the probability of each number of filled cells */
};

static double occupied_rate(struct occupancy *o, unsigned throws, unsigned k)
{
    for (; o->thrown < throws; o->thrown++)
        for (unsigned ones = o->cells + 1; ones-- > 0;)
            o->filled[ones] =
                o->filled[ones] * ones / o->cells +
                (ones > 0 ? o->filled[ones - 1] * (o->cells - (ones - 1)) / o->cells : 0);
    double rate = 0;
    for (unsigned ones = 0; ones <= o->cells; ones++)
        rate += o->filled[ones] * pow((double)ones / o->cells, k);
    return rate;
}

/* Up to 2048 throws the rate is exact. Beyond that it is computed from the moments of the fill. */
TEST(classic_rates_are_the_mean_over_the_number_of_set_bits)
{
    static const unsigned cells[] = { 7, 64, 100, 1000, 4096 }, hashes[] = { 1, 2, 7, 20, 64 };
    for (size_t c = 0; c < ROWS(cells); c++) {
        for (size_t h = 0; h < ROWS(hashes); h++) {
            static struct occupancy o;
            o = (struct occupancy){ .cells = cells[c], .filled = { 1 } };
            const unsigned k = hashes[h];
            for (unsigned n = 1; n * k < 2 * cells[c]; n = n * 3 / 2 + 1) {
                double tolerance = n * k <= 2048 ? 1e-9 : k <= 20 ? 2e-4 : 5e-3;
                assert_close(fpr_for(BLOOMFILE_LAYOUT_CLASSIC, cells[c], k, n),
                             with_equal_digests(occupied_rate(&o, n * k, k), n), tolerance,
                             "classic");
            }
        }
    }
}

/* The mean over Binomial(n, 1 / blocks) keys per block. */
static double blocked_rate(unsigned blocks, unsigned k, unsigned n)
{
    static struct occupancy o;
    o = (struct occupancy){ .cells = 512, .filled = { 1 } };
    double rate = 0, others = blocks - 1.0;
    for (unsigned j = 0; j <= n && j < 4000 / k; j++) {
        double ways = lgamma(n + 1.0) - lgamma(j + 1.0) - lgamma(n - j + 1.0);
        double chance = blocks == 1 ? j == n : exp(ways + (n - j) * log(others) - n * log(blocks));
        rate += chance * occupied_rate(&o, j * k, k);
    }
    return rate;
}

TEST(blocked_rates_are_the_mean_over_the_keys_of_a_block)
{
    static const struct {
        unsigned blocks, k, n;
    } rows[] = {
        { 1, 1, 1 },      { 1, 6, 50 },     { 1, 64, 20 },       { 2, 1, 1 },
        { 2, 2, 3 },      { 2, 6, 100 },    { 10, 6, 500 },      { 100, 6, 5000 },
        { 100, 8, 3000 }, { 3000, 5, 100 }, { 1000, 14, 20000 }, { 1000, 3, 100000 },
    };
    for (size_t i = 0; i < ROWS(rows); i++)
        assert_close(
            fpr_for(BLOOMFILE_LAYOUT_BLOCKED, 512 * rows[i].blocks, rows[i].k, rows[i].n),
            with_equal_digests(blocked_rate(rows[i].blocks, rows[i].k, rows[i].n), rows[i].n), 1e-7,
            "blocked");
}

/* Crowded blocks have a tiny weight there, and a rate many times higher. */
TEST(low_rates_of_crowded_blocks_are_summed_to_nine_digits)
{
    static const struct {
        unsigned blocks, k, n;
    } rows[] = { { 3723, 55, 37 }, { 93, 32, 146 }, { 936, 27, 3000 } };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct sizing_memo memo;
        memo.cover.k = 0;
        assert_close(sizing_of(BLOOMFILE_LAYOUT_BLOCKED)
                         ->expected(&memo, rows[i].blocks, rows[i].k, rows[i].n),
                     blocked_rate(rows[i].blocks, rows[i].k, rows[i].n), 1e-9, "crowded");
    }
}

/* 200 filters each. */
TEST(measured_rates_scatter_as_computed)
{
    static const struct recipe recipes[] = {
        { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 6, 7, 300, 0 },
        { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 31, 8, 1000, 0 },
        { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 300, 4, 40000, 0 },
        { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 2880, 7, 300, 0 },
        { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 12960, 30, 300, 0 },
    };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct recipe recipe = recipes[r];
        double sum = 0, squares = 0;
        for (recipe.seed = 0; recipe.seed < 200; recipe.seed++) {
            struct bytes image = image_from(recipe);
            bloomfile_filter *f;
            struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
            assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), 0), 0);
            assert_error(bloomfile_measure(f, &m), 0);
            sum += m.fpr;
            squares += m.fpr * m.fpr;
            bloomfile_close(f);
            free(image.data);
        }
        const double mean = sum / 200, deviation = sqrt(squares / 200 - mean * mean);
        assert_close(deviation / mean, spread_for(recipe.layout, recipe.m, recipe.k, recipe.keys),
                     0.25, "spread");
    }
    assert_true(spread_for(BLOOMFILE_LAYOUT_BLOCKED, 512, 64, UINT64_MAX) == 0);
    assert_true(isnan(spread_for(BLOOMFILE_LAYOUT_RIBBON, 5120, 0, 10)));
    assert_true(isnan(spread_for(BLOOMFILE_LAYOUT_CLASSIC, 0, 1, 1)));
}

TEST(rate_after_adding_to_an_empty_body_is_that_of_its_keys)
{
    const uint64_t blocks[513] = { [0] = 100 };
    for (uint32_t k = 1; k <= 20; k += 5)
        for (uint64_t n = 1; n < 20000; n *= 6)
            assert_close(
                with_equal_digests(
                    sizing_of(BLOOMFILE_LAYOUT_BLOCKED)->after(512 * 100, k, 0, blocks, n), n),
                fpr_for(BLOOMFILE_LAYOUT_BLOCKED, 512 * 100, k, n), 1e-7, "after");
}

TEST(rate_of_large_filters_matches_the_limit)
{
    static const double bits_per_key[] = { 0.25, 1, 2, 10, 40 };
    for (uint64_t n = 100000; n <= 1ULL << 54; n *= 37)
        for (size_t i = 0; i < ROWS(bits_per_key); i++)
            for (uint32_t k = 1; k <= 12; k++)
                assert_close(fpr_for(BLOOMFILE_LAYOUT_CLASSIC,
                                     (uint64_t)(bits_per_key[i] * (double)n), k, n),
                             with_equal_digests(pow(-expm1(-(double)k / bits_per_key[i]), k), n),
                             1e-3, "limit");
}

TEST(no_rate_is_above_1)
{
    for (uint64_t m = 1; m <= 1000; m += m / 16 + 1)
        for (uint32_t k = 1; k <= BLOOMFILE_MAX_HASHES; k++)
            for (uint64_t n = 1; n < 1ULL << 62; n += n / 2 + 1)
                assert_true(fpr_for(BLOOMFILE_LAYOUT_CLASSIC, m, k, n) <= 1);
}

TEST(tiny_rates_are_not_lost_in_rounding)
{
    for (uint64_t n = 1; n < 1000000; n = n * 5 + 2)
        assert_close(fpr_for(BLOOMFILE_LAYOUT_CLASSIC, BLOOMFILE_MAX_BITS, 1, n),
                     ldexp((double)n, -60) + ldexp((double)n, -64), 1e-6, "tiny");
}

TEST(a_rate_grows_with_the_keys_and_shrinks_with_the_bits)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_CLASSIC; layout++) {
        double last = 0;
        for (uint64_t n = 1; n < 1ULL << 50; n += n / 3 + 1) {
            double rate = fpr_for(layout, 512 * 1000, 6, n);
            assert_true(rate >= last * (1 - 1e-9) && rate <= 1);
            last = rate;
        }
        assert_true(last > 0.999999);
        for (uint64_t blocks = 1; blocks < 1ULL << 40; blocks += blocks / 3 + 1) {
            double rate = fpr_for(layout, 512 * blocks, 6, 10000);
            assert_true(rate <= last * (1 + 1e-9) && rate >= 0);
            last = rate;
        }
        assert_true(last < 1e-9);
    }
}

TEST(rate_without_keys_is_0)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING; layout++)
        for (uint64_t m = 512; m <= BLOOMFILE_MAX_BITS; m *= 512)
            assert_true(fpr_for(layout, m, 6, 0) == 0);
}

/* Random digests are looked up in filters of random digests. */
TEST(measured_rate_of_a_small_filter_matches_the_computed_rate)
{
    static const struct recipe recipes[] = {
        { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 8, 6, 400, 0 },
        { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 1000, 7, 100, 0 },
        { BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 500, 3, 100, 0 },
    };
    enum {
        FILTERS = 50,
        QUERIES = 20000
    };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        double found = 0;
        struct recipe recipe = recipes[r];
        for (uint64_t i = 0; i < FILTERS; i++) {
            recipe.seed = i;
            struct bytes image = image_from(recipe);
            bloomfile_filter *f;
            assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), 0), 0);
            uint64_t random = i;
            for (unsigned query = 0; query < QUERIES; query++)
                found += bloomfile_contains_digest(f, random64(&random));
            bloomfile_close(f);
            free(image.data);
        }
        double rate = fpr_for(recipe.layout, recipe.m, recipe.k, recipe.keys);
        assert_close(found / FILTERS / QUERIES, rate, 0.05, "measured");
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
