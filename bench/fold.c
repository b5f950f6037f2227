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

#include "bench.h"
#include "scratch.h"

#define KEYS        1000000
#define OVERSIZE    8
#define RATE        0.05
#define ABSENT      10000000
#define MAX_CHOICES 8192 /* no number of blocks or bits here has more divisors */
#define ROOM        (256u << 20)

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

static bool row(uint32_t layout, uint64_t factor, double planned, const bloomfile *f)
{
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    bench_check(bloomfile_measure(f, &measure), "measure a filter");
    if (bench_count_hits(f, 0, KEYS) != KEYS)
        bench_fail(0, "go on: a filter does not know a key of its own");
    const double rate = (double)bench_count_hits(f, KEYS, ABSENT) / ABSENT;
    const double error = sqrt(measure.fpr * (1 - measure.fpr) / ABSENT);
    const double deviation = (rate - measure.fpr) / error;
    const bool kept = fabs(deviation) <= 3 && fabs(planned - measure.fpr) <= 1e-12 * measure.fpr;
    printf("| %-8s | %6" PRIu64
           " | %6.2f | %11.7f | %11.7f | %11.7f | %12.7f | %+15.2f | %-13s |\n",
           bench_layout_name(layout), factor, 100 * measure.fill, 100 * planned, 100 * measure.fpr,
           100 * rate, 100 * error, deviation, kept ? "ok" : "MISSED");
    bench_flush();
    return kept;
}

static bool fold_layout(uint32_t layout)
{
    const char *const source = "source.bloom";
    const char *const result = "folded.bloom";
    bool good = true;
    bloomfile *f, *folded;
    build(source, layout);
    bench_check(bloomfile_open(&f, source, 0), "open a filter");
    for (unsigned i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        bench_check(bloomfile_fold(result, f, factors[i], BLOOMFILE_REPLACE), "fold a filter");
        bench_check(bloomfile_open(&folded, result, 0), "open a filter");
        good &= row(layout, factors[i], planned_rate(f, factors[i]), folded);
        bloomfile_close(folded);
    }
    bloomfile_close(f);
    return good;
}

int main(int argc, char **argv)
{
    bool good = true;
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fputs("usage: bench-fold [DIRECTORY]\n"
              "Fold filters of 10^6 keys in DIRECTORY ($TMPDIR or /var/tmp), look up 10^7 absent\n"
              "keys in each, and print the rates in Markdown.\n",
              stderr);
        return BENCH_TROUBLE;
    }
    scratch_make(argc == 2 ? argv[1] : NULL, "bench-fold", ROOM);
    scratch_enter();

    printf("%d keys in filters made for %d times as many at %g; %d absent keys a row\n\n", KEYS,
           OVERSIZE, RATE, ABSENT);
    puts("| layout   | factor | fill % | planned %   | exact %     | measured %  | std. error % "
         "| deviation, s.e. | within 3 s.e. |\n"
         "|----------|-------:|-------:|------------:|------------:|------------:|-------------:"
         "|----------------:|---------------|");
    for (uint32_t layout = BLOOMFILE_BLOCKED; layout <= BLOOMFILE_COUNTING; layout++)
        good &= fold_layout(layout);
    bench_flush();
    return good ? 0 : BENCH_MISSED;
}
