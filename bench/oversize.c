/* SPDX-License-Identifier: MIT
 *
 * bench-oversize - how much too large a filter still is that was made too large and then folded
 *
 * A filter made for `oversize` times the keys it got can be folded until it is about as large as
 * one that was made for its keys, but only by a whole number, and only by one that divides its
 * number of blocks. The leftover is the size after the greatest fold that keeps the promised rate,
 * over the size of a filter made for the right number of keys.
 *
 * Whole numbers alone leave something: of an oversize of 1.9 nothing can be folded away. So the
 * mean depends on which oversizes are thought likely, and both means are given: over oversizes
 * evenly spread from 1 to 32, to which the target applies, and over their logarithms evenly spread,
 * which has a fifth of them between 1 and 2.
 */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/program.h"

#define GREATEST       32
#define RATE           0.01
#define TOLERATED      1.10
#define LEAST_JUDGED   1000000
#define COMPUTED_STEPS 496
#define BUILT_STEPS    62
#define MAX_CHOICES    8192 /* no number of blocks or bits here has more divisors */

static uint64_t quick;

/* The middle of step i of `steps`. */
static double even_oversize(unsigned i, unsigned steps)
{
    return 1 + (GREATEST - 1) * (i + 0.5) / steps;
}

static double log_even_oversize(unsigned i, unsigned steps)
{
    return pow(GREATEST, (i + 0.5) / steps);
}

/* ---- computed: sizes and expected rates */

struct leftovers {
    double divisors; /* folding by what divides the number of blocks */
    double whole;    /* by any whole number, if all divided it */
    double powers;   /* by powers of two */
};

/* The k with which a filter of this size is made: the one that needs the fewest bits. */
static uint32_t hashes_of(uint32_t layout, uint64_t bits, uint64_t capacity)
{
    const uint32_t near = bloomfile_hashes_for(layout, bits, capacity);
    for (uint32_t k = near > 2 ? near - 2 : 1; k <= near + 2; k++)
        if (bloomfile_bits_for(layout, capacity, RATE, k) == bits)
            return k;
    bench_fail(0, "find out k");
}

static struct leftovers leftovers_at(uint32_t layout, uint64_t keys, uint64_t exact,
                                     double oversize)
{
    const uint64_t unit = layout == BLOOMFILE_BLOCKED ? 512 : 1;
    const uint64_t capacity = (uint64_t)llround(oversize * (double)keys);
    const uint64_t bits = bloomfile_bits_for(layout, capacity, RATE, 0), units = bits / unit;
    const uint32_t hashes = hashes_of(layout, bits, capacity);
    uint64_t whole = 2 * GREATEST;
    while (whole > 1 && bloomfile_fpr_for(layout, units / whole * unit, hashes, keys) > RATE)
        whole--;
    uint64_t divisor = whole, power = 1;
    while (units % divisor != 0)
        divisor--;
    while (2 * power <= whole)
        power *= 2;
    const double times = (double)bits / (double)exact;
    return (struct leftovers){ times / (double)divisor, times / (double)whole,
                               times / (double)power };
}

static struct leftovers mean_leftovers(uint32_t layout, uint64_t keys, unsigned steps,
                                       double (*oversize)(unsigned i, unsigned steps))
{
    const uint64_t exact = bloomfile_bits_for(layout, keys, RATE, 0);
    struct leftovers sum = { 0 };
    for (unsigned i = 0; i < steps; i++) {
        const struct leftovers l = leftovers_at(layout, keys, exact, oversize(i, steps));
        sum.divisors += l.divisors / steps;
        sum.whole += l.whole / steps;
        sum.powers += l.powers / steps;
    }
    return sum;
}

/* Two cells. A blocked filter of few keys has too few blocks: 0.5 % more of them, which is what
 * sizes are rounded up by, is too few numbers to find one with many divisors among. */
static void judge(uint64_t keys, double leftover)
{
    if (keys >= LEAST_JUDGED)
        table_cells("|<= %.2f|%s", TOLERATED, table_verdict(leftover <= TOLERATED));
    else
        table_cells("||");
}

static void computed_row(uint32_t layout, uint64_t keys, unsigned steps)
{
    const struct leftovers even = mean_leftovers(layout, keys, steps, even_oversize);
    const struct leftovers log_even = mean_leftovers(layout, keys, steps, log_even_oversize);
    table_cells("%s|%" PRIu64 "|%.4f|%.4f|%.4f", bench_layout_name(layout), keys, even.divisors,
                even.whole, even.powers);
    judge(keys, even.divisors);
    table_row("|%.4f|%.4f|%.4f", log_even.divisors, log_even.whole, log_even.powers);
}

static void computed_table(void)
{
    const unsigned steps = quick != 0 ? COMPUTED_STEPS / 4 : COMPUTED_STEPS;
    printf("computed from sizes and expected rates: rate %g, means of %u oversizes\n\n", RATE,
           steps);
    table_start("layout|>n|>leftover|>any whole number|>powers of two|target|verdict|"
                ">logarithms: leftover|>any whole number|>powers of two");
    for (uint32_t layout = BLOOMFILE_BLOCKED; layout <= BLOOMFILE_COUNTING; layout++)
        for (uint64_t keys = 10000; keys <= 1000000000; keys *= 10)
            computed_row(layout, keys, steps);
    table_end();
}

/* ---- built: real filters, and the exact rates of what they fold to */

static bloomfile *build(uint32_t layout, uint64_t keys, double oversize, void **image)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    bloomfile *f;
    size_t size;
    params.layout = layout;
    params.fpr = RATE;
    params.capacity = (uint64_t)llround(oversize * (double)keys);
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    bench_add_keys(builder, params.seed, 0, keys);
    bench_check(bloomfile_builder_finish_memory(builder, image, &size), "build a filter");
    bloomfile_builder_free(builder);
    bench_check(bloomfile_open_memory(&f, *image, size, 0), "open a filter");
    return f;
}

/* The bits that are left after folding by the greatest factor whose exact rate keeps the promise.
 */
static uint64_t folded_bits(const bloomfile *f)
{
    static struct bloomfile_fold_choice choices[MAX_CHOICES];
    size_t count = MAX_CHOICES;
    bench_check(bloomfile_fold_plan(f, 0, choices, &count), "plan a fold");
    uint64_t bits = choices[0].bits;
    for (size_t i = 1; i < count && i < MAX_CHOICES; i++)
        if (choices[i].fpr <= RATE)
            bits = choices[i].bits;
    return bits;
}

static void built_row(uint32_t layout, uint64_t keys, unsigned steps)
{
    const double exact = (double)bloomfile_bits_for(layout, keys, RATE, 0);
    double sum = 0, worst = 0;
    for (unsigned i = 0; i < steps; i++) {
        void *image;
        bloomfile *f = build(layout, keys, even_oversize(i, steps), &image);
        const double leftover = (double)folded_bits(f) / exact;
        bloomfile_close(f);
        free(image);
        sum += leftover;
        worst = fmax(worst, leftover);
    }
    table_cells("%s|%" PRIu64 "|%.4f|%.4f", bench_layout_name(layout), keys, sum / steps, worst);
    judge(keys, sum / steps);
    table_row("%s", "");
}

static void built_table(void)
{
    const unsigned steps = quick != 0 ? BUILT_STEPS / 2 : BUILT_STEPS;
    printf(
        "built, and folded by what bloomfile_fold_plan() says: rate %g, means of %u oversizes\n\n",
        RATE, steps);
    table_start("layout|>n|>leftover|>greatest|target|verdict");
    for (uint32_t layout = BLOOMFILE_BLOCKED; layout <= BLOOMFILE_COUNTING; layout++)
        for (uint64_t keys = 100000; keys <= (quick != 0 ? 100000 : 1000000); keys *= 10)
            built_row(layout, keys, steps);
    table_end();
}

static void run(void)
{
    computed_table();
    built_table();
}

const struct benchmark benchmark = {
    .what =
            "What folding leaves of an oversize of 1 to 32.\n",
    .options = {
        OPTION_FLAG("quick", &quick, "fewer oversizes, and no filters of 10^6 keys"),
    },
    .run = run,
};
