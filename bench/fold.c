/* SPDX-License-Identifier: MIT
 *
 * bench-fold - the false-positive rate that the bits of a filter tell, before and after folding,
 * beside the one that absent keys find
 *
 * Each filter is made for eight times the keys it gets. The bits of one filter are no matter of
 * chance any more, only which absent keys are asked for; so the standard error is that of a
 * proportion.
 */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "harness/program.h"

#define KEYS        1000000
#define OVERSIZE    8
#define RATE        0.05
#define ABSENT      10000000
#define MAX_CHOICES 8192 /* no number of blocks or bits here has more divisors */

static const uint64_t factors[] = { 1, 2, 3, 4, 6, 8, 12, 24 };

static void build(const char *path, uint32_t layout)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    params.layout = layout;
    params.fpr = RATE;
    params.capacity = OVERSIZE * KEYS;
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    bench_add_keys(builder, params.seed, 0, KEYS);
    bench_check(bloomfile_builder_finish(builder, path, BLOOMFILE_REPLACE), "create a filter");
    bloomfile_builder_free(builder);
}

/* What the plan says of a factor. */
static double planned_rate(const bloomfile *f, uint64_t factor)
{
    static struct bloomfile_fold_choice choices[MAX_CHOICES];
    size_t count = MAX_CHOICES;
    bench_check(bloomfile_fold_plan(f, 0, choices, &count), "plan a fold");
    for (size_t i = 0; i < count && i < MAX_CHOICES; i++)
        if (choices[i].factor == factor)
            return choices[i].fpr;
    bench_fail(0, "find the factor in the plan");
}

static void print_row(uint32_t layout, uint64_t factor, double planned, const bloomfile *f)
{
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    bench_check(bloomfile_measure(f, &measure), "measure a filter");
    if (bench_count_hits(f, 0, KEYS) != KEYS)
        bench_fail(0, "go on: a filter does not know a key of its own");
    const double rate = (double)bench_count_hits(f, KEYS, ABSENT) / ABSENT;
    const double error = sqrt(measure.fpr * (1 - measure.fpr) / ABSENT);
    const double deviation = (rate - measure.fpr) / error;
    const bool kept = fabs(deviation) <= 3 && fabs(planned - measure.fpr) <= 1e-12 * measure.fpr;
    table_row("%s|%" PRIu64 "|%.2f|%.7f|%.7f|%.7f|%.7f|%+.2f|%s", bench_layout_name(layout), factor,
              100 * measure.fill, 100 * planned, 100 * measure.fpr, 100 * rate, 100 * error,
              deviation, table_verdict(kept));
}

static void fold_layout(uint32_t layout)
{
    build("source.bloom", layout);
    bloomfile *f = bench_open("source.bloom", 0);
    for (unsigned i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        bench_check(bloomfile_fold("folded.bloom", f, factors[i], BLOOMFILE_REPLACE),
                    "fold a filter");
        bloomfile *folded = bench_open("folded.bloom", 0);
        print_row(layout, factors[i], planned_rate(f, factors[i]), folded);
        bloomfile_close(folded);
    }
    bloomfile_close(f);
}

static void run(void)
{
    printf("%d keys in filters made for %d times as many at %g; %d absent keys a row\n\n", KEYS,
           OVERSIZE, RATE, ABSENT);
    table_start("layout|>factor|>fill %%|>planned %%|>exact %%|>measured %%|>std. error %%|"
                ">deviation, s.e.|within 3 s.e.");
    for (uint32_t layout = BLOOMFILE_BLOCKED; layout <= BLOOMFILE_COUNTING; layout++)
        fold_layout(layout);
    table_end();
}

static uint64_t room(void)
{
    return 256u << 20;
}

const struct benchmark benchmark = {
    .what = "Folds filters of 10^6 keys, and looks up 10^7 absent keys in each.\n",
    .room = room,
    .run = run,
};
