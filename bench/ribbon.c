/* SPDX-License-Identifier: MIT
 *
 * bench-ribbon - the layout ribbon beside blocked at the same rate: sizes, rates, lookups
 */
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/program.h"
#include "harness/turns.h"

static uint64_t table, turns, most_keys, absent;
static const char *const tables[] = { "sizes", "lookups", NULL };

/* A filter in memory. */
struct subject {
    bloomfile *f;
    void *image;
    uint64_t bits;
    double rate; /* exact, from the bits or the heads */
};

static struct subject build(uint32_t layout, uint64_t keys, double rate)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    struct subject s;
    bloomfile_builder *builder;
    size_t size;
    params.layout = layout;
    params.capacity = keys;
    params.fpr = rate;
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    bench_add_keys(builder, 0, 0, keys);
    bench_check(bloomfile_builder_finish_memory(builder, &s.image, &size), "build a filter");
    bloomfile_builder_free(builder);
    bench_check(bloomfile_open_memory(&s.f, s.image, size, BLOOMFILE_VERIFY_FULL), "open a filter");
    bloomfile_get_info(s.f, &info);
    bench_check(bloomfile_measure(s.f, &measure), "measure a filter");
    s.bits = info.bits;
    s.rate = measure.fpr;
    return s;
}

static void drop(struct subject *s)
{
    bloomfile_close(s->f);
    free(s->image);
}

/* ---- sizes and rates */

#define FACTOR      1.05 /* of log2(1 / rate), and so many bits more */
#define BITS_MORE   0.05
#define SAVED       0.29 /* of the bits of blocked, at least */
#define SAVED_FROM  100000
#define ERRORS_MOST 3

static const double rates[] = { 0.01, 0.004, 0.001, 0.0001 };

static void size_row(double rate, uint64_t keys)
{
    struct subject s = build(BLOOMFILE_RIBBON, keys, rate);
    const double n = (double)keys, bits = (double)s.bits / n, bound = log2(1 / s.rate),
                 blocked = (double)bloomfile_bits_for(BLOOMFILE_BLOCKED, keys, s.rate, 0) / n,
                 saved = 1 - bits / blocked;
    const uint64_t lost = keys - bench_count_hits(s.f, 0, keys);
    const double measured = (double)bench_count_hits(s.f, keys, absent) / (double)absent,
                 deviation = (measured - s.rate) / sqrt(s.rate * (1 - s.rate) / (double)absent);
    const bool kept = bits <= FACTOR * bound + BITS_MORE && (keys < SAVED_FROM || saved >= SAVED) &&
                      lost == 0 && fabs(deviation) <= ERRORS_MOST;
    table_row("%g|%" PRIu64 "|%.3f|%.3f|%.3f|%.1f|%.5f|%.5f|%+.2f|%" PRIu64 "|%s", 100 * rate, keys,
              bits, bits / bound, blocked, 100 * saved, 100 * s.rate, 100 * measured, deviation,
              lost, table_verdict(kept));
    drop(&s);
}

static void sizes(void)
{
    printf(
        "bits at most %.2f log2(1 / rate) + %.2f, from %d keys on %.0f %% below blocked; %" PRIu64
        " absent keys\n\n",
        FACTOR, BITS_MORE, SAVED_FROM, 100 * SAVED, absent);
    table_start(
        ">target %%|>keys|>bits/key|>of log2(1/rate)|>blocked|>saved %%|>rate, from the heads %%|"
        ">measured %%|>deviation, s.e.|>lost|verdict");
    for (unsigned i = 0; i < sizeof rates / sizeof rates[0]; i++)
        for (uint64_t keys = 10000; keys <= most_keys; keys *= 100)
            size_row(rates[i], keys);
    table_end();
}

/* ---- lookups */

#define QUERIES      ((size_t)1 << 21)
#define BATCH        4096
#define BATCH_SLOWER 1.8 /* times as long as blocked, at most */
#define ONE_SLOWER   1.6

enum {
    BLOCKED,
    RIBBON,
    ROWS
};

enum figure {
    MANY, /* ns a key */
    ONE,
    FIGURES
};

static struct subject subjects[ROWS];
static bloomfile_digest *queries;
static size_t sink;

static void look_up_many(const bloomfile *f)
{
    bool hits[BATCH];
    for (size_t i = 0; i < QUERIES; i += BATCH)
        sink += bloomfile_contains_digests(f, queries + i, BATCH, hits);
}

static void look_up_one(const bloomfile *f)
{
    for (size_t i = 0; i < QUERIES; i++)
        sink += bloomfile_contains_digest(f, queries[i]);
}

static void measure(size_t row, double *figures)
{
    static void (*const look_up[FIGURES])(const bloomfile *) = { look_up_many, look_up_one };
    for (size_t i = 0; i < FIGURES; i++) {
        const double start = bench_processor_seconds();
        look_up[i](subjects[row].f);
        figures[i] = (bench_processor_seconds() - start) * 1e9 / (double)QUERIES;
    }
}

static void print_figure(const struct turns *t, size_t row, size_t figure, double most)
{
    const double ratio = turns_ratio(t, row, BLOCKED, figure);
    table_cells("|%.2f|%.2f|%.2f|%s", turns_median(t, row, figure), turns_least(t, row, figure),
                ratio, row == BLOCKED ? "" : table_verdict(ratio <= most));
}

static void print_row(const struct turns *t, size_t row, uint64_t keys)
{
    const struct subject *s = &subjects[row];
    table_cells("%s, %" PRIu64 " keys|%.2f|%.2f|%.4f", row == RIBBON ? "ribbon" : "blocked", keys,
                (double)s->bits / 8e6, (double)s->bits / (double)keys, 100 * s->rate);
    print_figure(t, row, MANY, BATCH_SLOWER);
    print_figure(t, row, ONE, ONE_SLOWER);
    table_row("%s", "");
}

static void lookups(void)
{
    queries = bench_memory(malloc(QUERIES * sizeof *queries));
    bench_digests(0, (uint64_t)1 << 40, queries, QUERIES);
    printf("absent keys in batches of %d, and one by one, %" PRIu64
           " turns; ribbon takes at most %.1f and "
           "%.1f times as long\n\n",
           BATCH, turns, BATCH_SLOWER, ONE_SLOWER);
    table_start("layout|>MB|>bits/key|>rate %%|>batch, ns|>least|>x||>one, ns|>least|>x|");
    for (unsigned i = 0; i < sizeof rates / sizeof rates[0]; i++)
        for (uint64_t keys = 1000000; keys <= most_keys; keys *= 10) {
            subjects[RIBBON] = build(BLOOMFILE_RIBBON, keys, rates[i]);
            subjects[BLOCKED] = build(BLOOMFILE_BLOCKED, keys, subjects[RIBBON].rate);
            struct turns t = turns_take(ROWS, FIGURES, turns, measure);
            for (size_t row = 0; row < ROWS; row++)
                print_row(&t, row, keys);
            free(t.values);
            drop(&subjects[RIBBON]);
            drop(&subjects[BLOCKED]);
        }
    table_end();
    free(queries);
}

static void run(void)
{
    void (*const print[])(void) = { sizes, lookups };
    for (unsigned i = 0; i < sizeof print / sizeof print[0]; i++)
        if (table == 0 || table == i + 1)
            print[i]();
}

const struct benchmark benchmark = {
    .what =
            "Filters of the layout ribbon beside blocked ones of the same rate.\n"
            "\n"
            "  sizes      bits a key, the rate that the heads tell, and the one measured; lost keys\n"
            "  lookups    the time of absent keys, in batches and one by one\n"
            "\n",
    .options = {
        OPTION_WORD("table", &table, tables, "this alone"),
        OPTION_NUMBER("turns", &turns, 9, 5, 1, 101, "turns of lookups"),
        OPTION_NUMBER("keys", &most_keys, 100000000, 1000000, 10000, 1000000000, "keys of the largest filters"),
        OPTION_NUMBER("absent", &absent, 100000000, 10000000, 1000, UINT64_MAX >> 8, "absent keys of each size"),
    },
    .run = run,
};
