/* SPDX-License-Identifier: MIT
 * Filters are built, asked and thrown away one by one. */
#include "population.h"

#include <bloomfile_inspect.h>
#include <math.h>
#include <stdlib.h>

#include "harness/bench.h"

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

struct population_rates population_measure(const struct population *p)
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
