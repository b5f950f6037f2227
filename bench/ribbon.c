/* SPDX-License-Identifier: MIT
 *
 * bench-ribbon - sizes and lookups of the layout ribbon, compared with blocked at the same rate
 */
#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/program.h"

static uint64_t turns, most_keys;

/* A filter in memory. */
struct subject {
    bloomfile_filter *f;
    void *image;
    uint64_t bits;
    double rate; /* the actual rate, from the bits or the heads */
};

static struct subject build(uint32_t layout, uint64_t keys, double rate)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    struct subject s;
    bloomfile_builder *builder;
    params.layout = layout;
    params.capacity = keys;
    params.fpr = rate;
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    bench_add_keys(builder, 0, 0, keys);
    struct bloomfile_destination to = bloomfile_to_memory();
    bench_check(bloomfile_builder_write(builder, &to), "build a filter");
    s.image = to.memory;
    bloomfile_builder_free(builder);
    const struct bloomfile_source from = bloomfile_from_memory(s.image, to.size);
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.flags = BLOOMFILE_OPEN_VERIFY_FULL;
    bench_check(bloomfile_open_with(&s.f, &from, &how), "open a filter");
    bloomfile_get_info(s.f, &info);
    bench_check(bloomfile_measure(s.f, &measure), "measure a filter");
    s.bits = info.bits;
    s.rate = measure.fpr;
    return s;
}

static void drop(struct subject *s)
{
    bloomfile_close(s->f);
    bloomfile_free(s->image);
}

static const double rates[] = { 0.01, 0.004, 0.001, 0.0001 };

#define QUERIES      ((size_t)1 << 21)
#define BATCH        4096
#define BATCH_SLOWER 1.8 /* targets: the most time, relative to blocked */
#define ONE_SLOWER   1.6

enum {
    BLOCKED,
    RIBBON,
    ROWS
};

enum figure {
    MANY, /* both in ns a key */
    ONE,
    FIGURES
};

static struct subject subjects[ROWS];
static bloomfile_digest *queries;
static size_t sink;

static void look_up_many(const bloomfile_filter *f)
{
    bool hits[BATCH];
    for (size_t i = 0; i < QUERIES; i += BATCH)
        sink += bloomfile_contains_digests(f, queries + i, BATCH, hits);
}

static void look_up_one(const bloomfile_filter *f)
{
    for (size_t i = 0; i < QUERIES; i++)
        sink += bloomfile_contains_digest(f, queries[i]);
}

static void measure(size_t row, double *figures)
{
    static void (*const look_up[FIGURES])(const bloomfile_filter *) = { look_up_many, look_up_one };
    for (size_t i = 0; i < FIGURES; i++) {
        const double start = bench_processor_seconds();
        look_up[i](subjects[row].f);
        figures[i] = (bench_processor_seconds() - start) * 1e9 / (double)QUERIES;
    }
}

static void print_figure(const struct turns *t, size_t row, size_t figure, double most)
{
    const double ratio = turns_ratio(t, row, BLOCKED, figure);
    table_cells("|%.2f|%.2f|%s", turns_median(t, row, figure), ratio,
                row == BLOCKED ? "" : table_verdict(ratio <= most));
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

static void run(void)
{
    queries = bench_memory(malloc(QUERIES * sizeof *queries));
    bench_digests(0, (uint64_t)1 << 40, queries, QUERIES);
    printf("absent keys in batches of %d, and one by one, %" PRIu64
           " turns; ribbon takes at most %.1f and "
           "%.1f times as long\n\n",
           BATCH, turns, BATCH_SLOWER, ONE_SLOWER);
    table_start("layout|>MB|>bits/key|>rate %%|>batch, ns|>x||>one, ns|>x|");
    for (unsigned i = 0; i < sizeof rates / sizeof rates[0]; i++)
        for (uint64_t keys = 1000000; keys <= most_keys; keys *= 10) {
            subjects[RIBBON] = build(BLOOMFILE_LAYOUT_RIBBON, keys, rates[i]);
            subjects[BLOCKED] = build(BLOOMFILE_LAYOUT_BLOCKED, keys, subjects[RIBBON].rate);
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

const struct benchmark benchmark = {
    .what =
            "Filters of the layout ribbon beside blocked ones of the same rate.\n",
    .options = {
        OPTION_NUMBER("turns", &turns, 9, 5, 1, MOST_TURNS, "turns of lookups"),
        OPTION_NUMBER("keys", &most_keys, 100000000, 1000000, 1000000, 1000000000, "keys of the largest filters"),
    },
    .run = run,
};
