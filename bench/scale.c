/* SPDX-License-Identifier: MIT
 *
 * bench-scale - 5 * 10^9 keys into 4 GiB, in little more memory than that
 *
 * The keys are numbers, hashed as they are added, so that this is the builder's time and not that
 * of reading text. One process builds, another one looks up; the memory of each is its own.
 */
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "harness/crew.h"
#include "harness/program.h"

#define KEYS             5000000000
#define BITS             (1ULL << 35) /* for KEYS; in proportion for others */
#define BLOCK_BITS       512
#define LOOKUPS          10000000
#define SAMPLE           500000    /* of the first keys, and of the last */
#define TOLERATED_MEMORY 1.125     /* 4.5 GiB of 4 */
#define SMALL_MEMORY     (8 << 20) /* and so much for the program itself */

static uint64_t keys, memory, threads; /* memory in MiB */

/* What the processes tell one another; shared. */
struct figures {
    double adding, finishing; /* seconds */
    double exact;             /* rate */
    uint64_t hits;            /* of LOOKUPS absent keys */
    uint64_t asked, found;    /* of a sample of its own keys */
    uint64_t recorded;        /* n in the file */
    uint64_t file_size;
};

/* ---- processes */

static uint64_t bits_for_keys(void)
{
    const double bits = (double)BITS / KEYS * (double)keys;
    return (uint64_t)ceil(bits / BLOCK_BITS) * BLOCK_BITS;
}

static void add_share(void *builder, unsigned thread)
{
    const uint64_t first = keys / threads * thread;
    bench_add_keys(builder, 0, first,
                   (thread + 1 < threads ? keys / threads * (thread + 1) : keys) - first);
}

static void build(void *context, unsigned worker)
{
    (void)worker;
    struct figures *figures = context;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    params.bits = bits_for_keys();
    params.capacity = keys;
    params.hashes = bloomfile_hashes_for(BLOOMFILE_BLOCKED, params.bits, keys);
    params.memory = memory << 20;
    params.spool = ".";
    params.threads = (uint32_t)threads;
    const double start = bench_seconds();
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    const struct crew crew = { (unsigned)threads, false, NULL, add_share, NULL, builder };
    crew_run(&crew);
    const double added = bench_seconds();
    bench_check(bloomfile_builder_finish(builder, "keys.bloom", 0), "create a filter");
    bloomfile_builder_free(builder);
    figures->adding = added - start;
    figures->finishing = bench_seconds() - added;
}

static void look_up(void *context, unsigned worker)
{
    (void)worker;
    struct figures *figures = context;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    bloomfile *f = bench_open("keys.bloom", BLOOMFILE_VERIFY_FULL);
    bloomfile_get_info(f, &info);
    bench_check(bloomfile_measure(f, &measure), "measure the filter");
    const uint64_t some = keys < SAMPLE ? keys : SAMPLE;
    figures->asked = 2 * some;
    figures->found = bench_count_hits(f, 0, some) + bench_count_hits(f, keys - some, some);
    figures->hits = bench_count_hits(f, keys, LOOKUPS);
    figures->exact = measure.fpr;
    figures->recorded = info.keys;
    figures->file_size = info.image_size;
    bloomfile_close(f);
}

/* ---- theory */

/* fill^k of a block in which so many bits were set at random, by the variance of the fill to the
 * second order. */
static double block_rate(double set, double k)
{
    const double empty = pow(1 - 1.0 / BLOCK_BITS, set), both = pow(1 - 2.0 / BLOCK_BITS, set);
    const double fill = 1 - empty;
    const double variance = (empty + (BLOCK_BITS - 1) * both) / BLOCK_BITS - empty * empty;
    return set == 0 ? 0 : pow(fill, k) * (1 + k * (k - 1) / 2 * variance / (fill * fill));
}

/* The mean over blocks with a Poisson number of keys; computed here, without the library.
 * *variance: that among blocks. */
static double theory(double blocks, double k, double *variance)
{
    const double mean = (double)keys / blocks;
    double sum = 0, squares = 0;
    for (double j = 0; j < 4 * mean + 100; j++) {
        const double weight = exp(j * log(mean) - mean - lgamma(j + 1));
        const double rate = block_rate(k * j, k);
        sum += weight * rate;
        squares += weight * rate * rate;
    }
    *variance = squares - sum * sum;
    return sum;
}

/* ---- */

static void row(const char *what, double value, int decimals, const char *unit)
{
    table_row("%s|%.*f %-11s||", what, decimals, value, unit);
}

static void judged(const char *what, double value, int decimals, const char *unit,
                   const char *target, bool kept)
{
    table_row("%s|%.*f %-11s|%s|%s", what, decimals, value, unit, target, table_verdict(kept));
}

static void print_building(const struct figures *f, const struct crew_time *time)
{
    const double seconds = f->adding + f->finishing, allowed = (double)(memory << 20);
    row("hashing and adding", f->adding, 2, "s");
    row("finishing", f->finishing, 2, "s");
    row("together", seconds, 2, "s");
    row("", (double)keys / seconds / 1e6, 2, "10^6 keys/s");
    row("processor time", time->process_seconds, 2, "s");
    row("memory allowed", (double)memory, 1, "MiB");
    judged("peak memory", time->peak_bytes / 0x1p20, 1, "MiB", "<= 1.125 of it",
           time->peak_bytes <= fmax(allowed * TOLERATED_MEMORY, allowed + SMALL_MEMORY));
    row("file", (double)f->file_size / 0x1p20, 1, "MiB");
    judged("keys recorded", (double)f->recorded, 0, "", "all, exactly", f->recorded == keys);
}

static void print_rates(const struct figures *f, uint64_t bits, uint32_t hashes)
{
    const double blocks = (double)bits / BLOCK_BITS;
    double variance;
    const double expected = theory(blocks, hashes, &variance);
    const double measured = (double)f->hits / LOOKUPS;
    const double of_lookups = f->exact * (1 - f->exact) / LOOKUPS;
    const double from_exact = (measured - f->exact) / sqrt(of_lookups);
    const double from_theory = (measured - expected) / sqrt(of_lookups + variance / blocks);
    judged("own keys found, of a sample", 100 * (double)f->found / (double)f->asked, 4, "%", "100",
           f->found == f->asked);
    row("rate, theory", 100 * expected, 4, "%");
    row("rate, bloomfile_fpr_for()", 100 * bloomfile_fpr_for(BLOOMFILE_BLOCKED, bits, hashes, keys),
        4, "%");
    row("rate, exact from the bits", 100 * f->exact, 4, "%");
    row("rate, measured with 10^7 absent keys", 100 * measured, 4, "%");
    judged("measured from exact", from_exact, 2, "std. errors", "-3 to 3", fabs(from_exact) <= 3);
    judged("measured from theory", from_theory, 2, "std. errors", "-3 to 3",
           fabs(from_theory) <= 3);
}

static void run(void)
{
    const uint64_t bits = bits_for_keys();
    const uint32_t hashes = bloomfile_hashes_for(BLOOMFILE_BLOCKED, bits, keys);
    struct figures *figures = crew_memory(sizeof *figures);
    const struct crew_time building =
        crew_run(&(struct crew){ 1, true, NULL, build, NULL, figures });
    const struct crew_time looking_up =
        crew_run(&(struct crew){ 1, true, NULL, look_up, NULL, figures });

    printf("%" PRIu64 " keys, m = %" PRIu64 ", k = %" PRIu32 ", %" PRIu64 " threads\n\n", keys,
           bits, hashes, threads);
    table_start("|>|target|verdict");
    print_building(figures, &building);
    print_rates(figures, bits, hashes);
    row("memory of verifying and looking up", looking_up.peak_bytes / 0x1p20, 1, "MiB");
    table_end();
    crew_memory_free(figures, sizeof *figures);
}

static uint64_t room(void)
{
    return keys * sizeof(bloomfile_digest) + bits_for_keys() / 8 + (64u << 20);
}

const struct benchmark benchmark = {
    .what =
            "Builds a blocked filter at 6.9 bits a key, and looks up 10^7 absent keys. Takes 8 bytes a key of\n"
            "disk, and the filter.\n",
    .options = {
        OPTION_NUMBER("keys", &keys, KEYS, 0, 1, 1000000000000, "keys"),
        OPTION_NUMBER("memory", &memory, 4096, 0, 1, UINT64_MAX >> 20, "MiB of memory"),
        OPTION_NUMBER("threads", &threads, 2, 0, 1, CREW_MAX, "threads"),
    },
    .room = room,
    .run = run,
};
