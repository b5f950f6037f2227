/* SPDX-License-Identifier: MIT
 *
 * bench-rates - the false-positive rates that were promised, and those that are measured
 */
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/program.h"

static double theory(double bits, uint32_t hashes, double keys)
{
    return pow(-expm1(-(double)hashes * keys / bits), hashes);
}

static uint64_t table, quick;
static const char *const tables[] = { "published", "progressive", "promise", NULL };

/* ---- populations
 *
 * The false-positive rate of a population of filters: same parameters, each with keys and a seed of
 * its own.
 *
 * One filter is not enough to test a formula. Its rate differs from the expected one by the chance
 * of its own fill, and this does not average out however many absent keys it is asked: at 2 bits a
 * key and k = 5, 10^7 absent keys pin the rate of one filter of 80 000 keys down to 0.02 %, while
 * the filters themselves scatter by 0.3 %. So both kinds of chance enter the standard error:
 *
 *     error^2 = rate * (1 - rate) / lookups  +  variance of the filters' exact rates / filters
 */

struct population {
    struct bloomfile_params params; /* the seed is set for each filter */
    uint64_t filters;
    uint64_t keys;   /* in each filter */
    uint64_t absent; /* other keys that each is asked for; with `keys` less than 2^32 */
};

struct population_rates {
    uint64_t bits;
    uint32_t hashes;
    double measured; /* false positives / absent keys asked for */
    double error;    /* its standard error */
    double exact;    /* mean of what bloomfile_measure() says of each filter */
    double exact_error;
};

static bloomfile *build(const struct bloomfile_params *params, uint64_t first, uint64_t keys,
                        void **image)
{
    bloomfile_builder *builder;
    bloomfile *f;
    size_t size;
    bench_check(bloomfile_builder_new(&builder, params), "start a filter");
    bench_add_keys(builder, params->seed, first, keys);
    bench_check(bloomfile_builder_finish_memory(builder, image, &size), "build a filter");
    bloomfile_builder_free(builder);
    bench_check(bloomfile_open_memory(&f, *image, size, 0), "open a filter");
    return f;
}

static double exact_rate(const bloomfile *f)
{
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    bench_check(bloomfile_measure(f, &measure), "measure a filter");
    return measure.fpr;
}

/* Builds the filters in memory, one after the other. Ends the program if one of them does not know
 * a key of its own. */
static struct population_rates population_measure(const struct population *p)
{
    struct bloomfile_params params = p->params;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bench_sample exact = { 0 };
    uint64_t hits = 0;
    for (uint64_t i = 0; i < p->filters; i++) {
        const uint64_t first = i << 32;
        void *image;
        params.seed = i;
        bloomfile *f = build(&params, first, p->keys, &image);
        if (bench_count_hits(f, first, p->keys) != p->keys)
            bench_fail(0, "go on: a filter does not know a key of its own");
        hits += bench_count_hits(f, first + p->keys, p->absent);
        bench_sample_add(&exact, exact_rate(f));

        /* The first filter's size was computed from the rate to keep; the others need not repeat
         * that. */
        bloomfile_get_info(f, &info);
        params.bits = info.bits;
        params.hashes = info.hashes;
        bloomfile_close(f);
        free(image);
    }
    const double lookups = (double)p->filters * (double)p->absent;
    const double measured = (double)hits / lookups;
    const double among_filters = bench_sample_error(&exact);
    return (struct population_rates){
        .bits = info.bits,
        .hashes = info.hashes,
        .measured = measured,
        .error = sqrt(measured * (1 - measured) / lookups + among_filters * among_filters),
        .exact = exact.mean,
        .exact_error = among_filters,
    };
}

/* ---- published */

#define PUBLISHED_KEYS 80000

static const struct {
    uint32_t bits_per_key, hashes;
    const char *percent;
} published[] = {
    { 20, 6, "0.0303" },  { 20, 14, "0.0067" }, { 20, 20, "0.0104" },
    { 20, 10, "0.0089" }, { 10, 7, "0.819" },   { 5, 3, "9.18" },
    { 2, 1, "39.3" },     { 2, 2, "40.0" },     { 2, 5, "65.2" },
};

static void published_table(void)
{
    const uint64_t filters = 200, absent = quick != 0 ? 100 * 1000 : 1000 * 1000;
    printf("classic, n = %d, %" PRIu64 " filters, %.3g absent keys a row\n\n", PUBLISHED_KEYS,
           filters, (double)(filters * absent));
    table_start(">m/n|>k|>published %%|>theory %%|>measured %%|>std. error %%|>deviation, s.e.|"
                ">exact, from the bits %%|within 3 s.e.");
    for (unsigned i = 0; i < sizeof published / sizeof published[0]; i++) {
        const uint64_t bits = (uint64_t)published[i].bits_per_key * PUBLISHED_KEYS;
        struct population p = { BLOOMFILE_PARAMS_INIT, filters, PUBLISHED_KEYS, absent };
        p.params.layout = BLOOMFILE_CLASSIC;
        p.params.bits = bits;
        p.params.hashes = published[i].hashes;
        const struct population_rates r = population_measure(&p);
        const double expected = theory((double)bits, published[i].hashes, PUBLISHED_KEYS);
        const double deviation = (r.measured - expected) / r.error;
        table_row("%u|%u|%s|%.5f|%.5f|%.5f|%+.2f|%.5f|%s", published[i].bits_per_key,
                  published[i].hashes, published[i].percent, 100 * expected, 100 * r.measured,
                  100 * r.error, deviation, 100 * r.exact, table_verdict(fabs(deviation) <= 3));
    }
    table_end();
}

/* ---- progressive */

#define PROGRESSIVE_KEYS   100000
#define PROGRESSIVE_STEP   10000
#define PROGRESSIVE_STEPS  (PROGRESSIVE_KEYS / PROGRESSIVE_STEP)
#define PROGRESSIVE_BITS   480833
#define PROGRESSIVE_HASHES 3

__extension__ typedef unsigned __int128 u128;

/* Adds a key to a classic body; whether it seemed to be there before. The positions are those of
 * format-spec.md, section 8. */
static bool add(uint8_t *body, bloomfile_digest digest)
{
    bool seen = true;
    uint64_t g = digest;
    for (int i = 0; i < PROGRESSIVE_HASHES; i++, g *= 0x9E3779B97F4A7C15u) {
        uint64_t bit = (uint64_t)((u128)g * PROGRESSIVE_BITS >> 64);
        seen &= body[bit / 8] >> bit % 8 & 1;
        body[bit / 8] |= (uint8_t)(1u << bit % 8);
    }
    return seen;
}

/* Whether the library makes the same bits of the same digests. */
static bool same_as_library(const uint8_t *body, const bloomfile_digest *digests)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_builder *builder;
    void *image;
    size_t size;
    params.layout = BLOOMFILE_CLASSIC;
    params.bits = PROGRESSIVE_BITS;
    params.hashes = PROGRESSIVE_HASHES;
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    bench_check(bloomfile_builder_add_digests(builder, digests, PROGRESSIVE_KEYS), "add keys");
    bench_check(bloomfile_builder_finish_memory(builder, &image, &size), "build a filter");
    bench_check(bloomfile_inspect(image, size, &info, NULL, NULL), "inspect a filter");
    bool same =
        memcmp((const uint8_t *)image + info.body_offset, body, PROGRESSIVE_BITS / 8 + 1) == 0;
    bloomfile_builder_free(builder);
    free(image);
    return same;
}

/* One filter; adds to each sample how many keys of a step seemed to be there before. */
static void progress(uint64_t seed, struct bench_sample steps[PROGRESSIVE_STEPS],
                     struct bench_sample *total)
{
    static bloomfile_digest digests[PROGRESSIVE_KEYS];
    uint8_t body[PROGRESSIVE_BITS / 8 + 1] = { 0 };
    unsigned all = 0;
    bench_digests(seed, seed << 32, digests, PROGRESSIVE_KEYS);
    for (int step = 0; step < PROGRESSIVE_STEPS; step++) {
        unsigned seen = 0;
        for (int i = 0; i < PROGRESSIVE_STEP; i++)
            seen += add(body, digests[step * PROGRESSIVE_STEP + i]);
        bench_sample_add(&steps[step], seen);
        all += seen;
    }
    bench_sample_add(total, all);
    if (!same_as_library(body, digests))
        bench_fail(0, "go on: the library sets other bits than format-spec.md says");
}

static void progressive_row(int from, int to, const struct bench_sample *seen)
{
    double expected = 0;
    for (int before = from; before < to; before++)
        expected += theory(PROGRESSIVE_BITS, PROGRESSIVE_HASHES, before);
    const double error = bench_sample_error(seen), deviation = (seen->mean - expected) / error;
    table_row("%6d - %6d|%.2f|%.2f|%.2f|%.3f|%+.2f|%s", from + 1, to, expected, seen->mean, error,
              100 * seen->mean / (to - from), deviation, table_verdict(fabs(deviation) <= 3));
}

static void progressive_table(void)
{
    const uint64_t filters = quick != 0 ? 100 : 1000;
    struct bench_sample steps[PROGRESSIVE_STEPS] = { 0 }, total = { 0 };
    for (uint64_t seed = 0; seed < filters; seed++)
        progress(seed, steps, &total);

    printf("classic, m = %d, k = %d, mean of %" PRIu64 " runs: 'seen before' of keys that were not;"
           "\nthe bits are those of the library's filter in every run\n\n",
           PROGRESSIVE_BITS, PROGRESSIVE_HASHES, filters);
    table_start("keys|>expected|>measured|>std. error|>%% of the keys|>deviation, s.e.|"
                "within 3 s.e.");
    for (int i = 0; i < PROGRESSIVE_STEPS; i++)
        progressive_row(i * PROGRESSIVE_STEP, (i + 1) * PROGRESSIVE_STEP, &steps[i]);
    progressive_row(0, PROGRESSIVE_KEYS, &total);
    table_end();
}

/* ---- promise */

#define LOOKUPS        1e8
#define LOOKUPS_HITS   4e4 /* at the least, so that a rate is known to 0.5 % */
#define TOLERATED_RATE 1.02
#define TOLERATED_BITS 1.02

static const struct {
    uint64_t keys, filters;
} crowds[] = { { 100, 40000 }, { 10000, 1000 }, { 1000000, 10 }, { 10000000, 4 } };

#define CROWDS       (sizeof crowds / sizeof crowds[0])
#define QUICK_CROWDS (CROWDS - 1)

/* The least m whose expected rate is at most `rate`, by bisection. */
static uint64_t least_bits(enum bloomfile_layout layout, uint64_t keys, double rate)
{
    const uint64_t unit = layout == BLOOMFILE_BLOCKED ? 512 : 1;
    uint64_t low = 0, high = 64 * keys / unit;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2, bits = middle * unit;
        uint32_t hashes = bloomfile_hashes_for(layout, bits, keys);
        if (bloomfile_fpr_for(layout, bits, hashes, keys) > rate)
            low = middle;
        else
            high = middle;
    }
    return high * unit;
}

static void promise_row(enum bloomfile_layout layout, double rate, unsigned crowd)
{
    const uint64_t keys = crowds[crowd].keys, filters = crowds[crowd].filters;
    const double lookups = fmax(LOOKUPS, LOOKUPS_HITS / rate) / (quick != 0 ? 10 : 1);
    struct population p = { BLOOMFILE_PARAMS_INIT, filters, keys, (uint64_t)lookups / filters };
    p.params.layout = layout;
    p.params.fpr = rate;
    const struct population_rates r = population_measure(&p);

    const double bits = (double)r.bits / (double)keys, ideal = -log(rate) / M_LN2 / M_LN2;
    const double over_least = (double)r.bits / (double)least_bits(layout, keys, rate);
    const bool kept =
        r.measured - 2 * r.error <= TOLERATED_RATE * rate && over_least <= TOLERATED_BITS;
    table_row("%s|%g|%" PRIu64 "|%u|%.3f|%.3f|%.3f|%.2f|%.4e|%.2f|%.4f|%.4f|%s",
              bench_layout_name(layout), rate, keys, r.hashes, bits, ideal, bits / ideal,
              100 * (over_least - 1), r.measured, 100 * r.error / r.measured, r.measured / rate,
              r.exact / rate, table_verdict(kept));
}

static void promise_table(void)
{
    static const double rates[] = { 0.1, 0.01, 0.001, 0.0001 };
    printf("filters sized for n keys at a target rate; at least %.3g absent keys a row\n\n",
           LOOKUPS / (quick != 0 ? 10 : 1));
    table_start("layout|>target|>n|>k|>bits/key|>theory|>ratio|>over least %%|measured|"
                ">std. error %%|>measured/target|>exact/target|verdict");
    for (int layout = BLOOMFILE_BLOCKED; layout <= BLOOMFILE_CLASSIC; layout++)
        for (unsigned i = 0; i < sizeof rates / sizeof rates[0]; i++)
            for (unsigned j = 0; j < (quick != 0 ? QUICK_CROWDS : CROWDS); j++)
                promise_row((enum bloomfile_layout)layout, rates[i], j);
    table_end();
}

static void run(void)
{
    void (*const print[])(void) = { published_table, progressive_table, promise_table };
    for (unsigned i = 0; i < sizeof print / sizeof print[0]; i++)
        if (table == 0 || table == i + 1)
            print[i]();
}

const struct benchmark benchmark = {
    .what =
            "False-positive rates.\n"
            "\n"
            "  published    classic filters of 80 000 keys beside the formula (1 - e^(-kn/m))^k\n"
            "  progressive  100 000 distinct keys one after the other into m = 480 833, k = 3\n"
            "  promise      filters sized for a rate: do they keep it, and how big are they?\n"
            "\n",
    .options = {
        OPTION_FLAG("quick", &quick, "a tenth of the absent keys, and no filters of 10^7 keys"),
        OPTION_WORD("table", &table, tables, "this alone"),
    },
    .run = run,
};
