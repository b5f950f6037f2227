/* SPDX-License-Identifier: MIT
 * The cases of bench-file that build filters, and the case of lines of input. */
#include "file.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/keys/split.h"
#include "harness/crew.h"
#include "harness/program.h"
#include "harness/turns.h"

struct file_options file_options;

/* ---- scale: numbers as keys, hashed as they are added; a process builds, another looks up */

#define KEYS         5000000000
#define BITS         (1ULL << 35) /* for KEYS; in proportion for others */
#define LOOKUPS      10000000
#define SAMPLE       500000 /* of the first keys, and of the last */
#define OVER_MEMORY  1.125  /* 4.5 GiB of 4 */
#define SMALL_MEMORY (8 << 20)

static uint64_t keys, threads;

/* Shared by the processes. */
struct figures {
    double adding, finishing, exact; /* seconds; rate from the bits */
    uint64_t hits, looked_up, found, recorded, file_size;
};

static uint64_t bits_for_keys(void)
{
    return (uint64_t)ceil((double)BITS / KEYS * (double)keys / 512) * 512;
}

static void start_scale(void)
{
    keys = file_number(file_options.keys, KEYS);
    threads = file_number(file_options.threads, 2);
}

uint64_t file_scale_room(void)
{
    start_scale();
    return keys * sizeof(bloomfile_digest) + bits_for_keys() / 8 + (64u << 20);
}

static void add_share(void *builder, unsigned thread)
{
    const uint64_t first = keys / threads * thread;
    bench_add_keys(builder, 0, first, thread + 1 < threads ? keys / threads : keys - first);
}

static void build_scale(void *context, unsigned worker)
{
    (void)worker;
    struct figures *figures = context;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    params.bits = bits_for_keys();
    params.capacity = keys;
    params.hashes = bloomfile_hashes_for(BLOOMFILE_BLOCKED, params.bits, keys);
    params.memory = file_number(file_options.memory, 4096) << 20;
    params.spool = ".";
    params.threads = (uint32_t)threads;
    const double start = bench_seconds();
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    crew_run(&(struct crew){ (unsigned)threads, false, NULL, add_share, NULL, builder });
    figures->adding = bench_seconds() - start;
    bench_check(bloomfile_builder_finish(builder, "keys.bloom", 0), "create a filter");
    figures->finishing = bench_seconds() - start - figures->adding;
    bloomfile_builder_free(builder);
}

static void look_up_scale(void *context, unsigned worker)
{
    (void)worker;
    struct figures *figures = context;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    bloomfile *f = bench_open("keys.bloom", BLOOMFILE_VERIFY_FULL);
    bloomfile_get_info(f, &info);
    bench_check(bloomfile_measure(f, &measure), "measure the filter");
    const uint64_t some = keys < SAMPLE ? keys : SAMPLE;
    figures->looked_up = 2 * some;
    figures->found = bench_count_hits(f, 0, some) + bench_count_hits(f, keys - some, some);
    figures->hits = bench_count_hits(f, keys, LOOKUPS);
    figures->exact = measure.fpr;
    figures->recorded = info.keys;
    figures->file_size = info.image_size;
    bloomfile_close(f);
}

static void print_building(const struct figures *f, const struct crew_time *time)
{
    const double seconds = f->adding + f->finishing;
    const double allowed = (double)(file_number(file_options.memory, 4096) << 20);
    const bool kept = time->peak_bytes <= fmax(allowed * OVER_MEMORY, allowed + SMALL_MEMORY);
    table_row("hashing and adding|%.2f s||", f->adding);
    table_row("finishing|%.2f s||", f->finishing);
    table_row("together|%.2f 10^6 keys/s||", (double)keys / seconds / 1e6);
    table_row("processor time|%.2f s||", time->process_seconds);
    table_row("memory allowed|%.1f MiB||", allowed / 0x1p20);
    table_row("peak memory|%.1f MiB|<= 1.125 of it|%s", time->peak_bytes / 0x1p20,
              table_verdict(kept));
    table_row("file|%.1f MiB||", (double)f->file_size / 0x1p20);
    table_row("keys recorded|%" PRIu64 "|all, exactly|%s", f->recorded,
              table_verdict(f->recorded == keys));
}

static void print_rates(const struct figures *f)
{
    const double measured = (double)f->hits / LOOKUPS;
    const double apart = (measured - f->exact) / sqrt(f->exact * (1 - f->exact) / LOOKUPS);
    const uint32_t hashes = bloomfile_hashes_for(BLOOMFILE_BLOCKED, bits_for_keys(), keys);
    table_row("own keys found, of a sample|%.4f%%|100|%s",
              100 * (double)f->found / (double)f->looked_up,
              table_verdict(f->found == f->looked_up));
    table_row("rate, bloomfile_fpr_for()|%.4f%%||",
              100 * bloomfile_fpr_for(BLOOMFILE_BLOCKED, bits_for_keys(), hashes, keys));
    table_row("rate, exact from the bits|%.4f%%||", 100 * f->exact);
    table_row("rate, measured with 10^7 absent keys|%.4f%%||", 100 * measured);
    table_row("measured from exact|%.2f std. errors|-3 to 3|%s", apart,
              table_verdict(fabs(apart) <= 3));
}

void file_scale(void)
{
    start_scale();
    struct figures *figures = crew_memory(sizeof *figures);
    const struct crew_time building =
        crew_run(&(struct crew){ 1, true, NULL, build_scale, NULL, figures });
    const struct crew_time looking_up =
        crew_run(&(struct crew){ 1, true, NULL, look_up_scale, NULL, figures });
    printf("%" PRIu64 " keys, m = %" PRIu64 ", %" PRIu64 " threads\n\n", keys, bits_for_keys(),
           threads);
    table_start("|>|target|verdict");
    print_building(figures, &building);
    print_rates(figures);
    table_row("memory of verifying and looking up|%.1f MiB||", looking_up.peak_bytes / 0x1p20);
    table_end();
    crew_memory_free(figures, sizeof *figures);
}

/* ---- oversize: the size after the greatest fold that keeps the target rate, over the size of a
 * filter made for the keys it got; means over oversizes evenly spread from 1 to 32 */

#define GREATEST    32
#define RATE        0.01
#define TOLERATED   1.10
#define MAX_CHOICES 8192 /* no number of blocks or bits here has more divisors */

static bloomfile *build_oversize(uint32_t layout, uint64_t count, double oversize, void **image)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    bloomfile *f;
    size_t size;
    params.layout = layout;
    params.fpr = RATE;
    params.capacity = (uint64_t)llround(oversize * (double)count);
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    bench_add_keys(builder, params.seed, 0, count);
    bench_check(bloomfile_builder_finish_memory(builder, image, &size), "build a filter");
    bloomfile_builder_free(builder);
    bench_check(bloomfile_open_memory(&f, *image, size, 0), "open a filter");
    return f;
}

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

static void oversize_row(uint32_t layout, uint64_t count, unsigned steps)
{
    double sum = 0, worst = 0;
    for (unsigned i = 0; i < steps; i++) {
        void *image;
        bloomfile *f =
            build_oversize(layout, count, 1 + (GREATEST - 1) * (i + 0.5) / steps, &image);
        const double leftover =
            (double)folded_bits(f) / (double)bloomfile_bits_for(layout, count, RATE, 0);
        bloomfile_close(f);
        free(image);
        sum += leftover / steps;
        worst = fmax(worst, leftover);
    }
    table_cells("%s|%" PRIu64 "|%.4f|%.4f", bench_layout_name(layout), count, sum, worst);
    if (count >= 1000000) /* fewer keys have too few blocks to find a number with many divisors */
        table_row("|<= %.2f|%s", TOLERATED, table_verdict(sum <= TOLERATED));
    else
        table_row("||");
}

void file_oversize(void)
{
    const bool few = file_options.quick != 0;
    const unsigned steps = few ? 31 : 62;
    printf("rate %g, means of %u oversizes\n\n", RATE, steps);
    table_start("layout|>n|>leftover|>greatest|target|verdict");
    for (uint32_t layout = BLOOMFILE_BLOCKED; layout <= BLOOMFILE_COUNTING; layout++)
        for (uint64_t count = few ? 10000 : 100000; count <= (few ? 10000 : 1000000); count *= 10)
            oversize_row(layout, count, steps);
    table_end();
}

/* ---- split: each piece is in the cache as if it had just been read */

#define PIECE      (1u << 18)
#define PIECES     64 /* all different, so that branch predictors do not learn them */
#define BATCH      1024
#define LINE       60 /* bytes, about */
#define LEAST_RATE 8.0

static uint8_t text[PIECES][PIECE];
static struct bloomfile_key batch[BATCH];

/* Lines of LINE / 2 to 3 * LINE / 2 bytes, each with its end. */
static void make_text(void)
{
    for (uint64_t i = 0, number = 0; i < PIECES; i++) {
        memset(text[i], 'x', PIECE);
        for (size_t at = 0; at < PIECE; number++) {
            at += LINE / 2 + bloomfile_hash(0, &number, sizeof number) % LINE;
            text[i][at < PIECE ? at - 1 : PIECE - 1] = '\n';
        }
    }
}

static size_t by_split(const uint8_t *piece)
{
    struct split split = { .at = piece, .end = piece + PIECE, .mark = '\n' };
    size_t lines = 0, n;
    while ((n = split_next(&split, batch, BATCH)) > 0)
        lines += n;
    return lines;
}

static size_t by_memchr(const uint8_t *piece)
{
    size_t lines = 0;
    for (const uint8_t *at = piece, *end = piece + PIECE; at < end; lines++) {
        const uint8_t *found = memchr(at, '\n', (size_t)(end - at));
        batch[lines % BATCH] = (struct bloomfile_key){ at, (size_t)(found - at) };
        at = found + 1;
    }
    return lines;
}

static size_t by_reading(const uint8_t *piece)
{
    uint64_t sum = 0, word;
    for (size_t at = 0; at < PIECE; at += sizeof word) {
        memcpy(&word, piece + at, sizeof word);
        sum += word;
    }
    return sum;
}

static const struct {
    const char *name;
    size_t (*run)(const uint8_t *piece);
} ways[] = { { "reading alone", by_reading },
             { "memchr(), line by line", by_memchr },
             { "split_next()", by_split } };

#define WAYS (sizeof ways / sizeof ways[0])

static size_t results[WAYS]; /* summed */

static void measure_way(size_t way, double *rate)
{
    static uint8_t piece[PIECE];
    static unsigned sample[WAYS];
    memcpy(piece, text[sample[way]++ % PIECES], PIECE);
    const double start = bench_seconds();
    results[way] += ways[way].run(piece);
    *rate = PIECE / (bench_seconds() - start) / 1e9;
}

void file_split(void)
{
    const size_t samples = file_number(file_options.turns, 15) * PIECES;
    make_text();
    struct turns t = turns_take(WAYS, 1, samples, measure_way);
    if (results[1] != results[2])
        bench_fail(0, "find the lines that memchr() finds");
    printf("lines of %.1f bytes in pieces of %u KiB, one thread; medians of %zu pieces\n\n",
           (double)samples * PIECE / (double)results[2], PIECE >> 10, samples);
    table_start("way|>GB/s|>to memchr()|target|verdict");
    for (size_t i = 0; i < WAYS; i++) {
        const double rate = turns_median(&t, i, 0);
        table_cells("%s|%.2f|%.2f|", ways[i].name, rate, turns_ratio(&t, i, 1, 0));
        if (i == 2)
            table_row(">= %g|%s", LEAST_RATE, table_verdict(rate >= LEAST_RATE));
        else
            table_row("|");
    }
    table_end();
    free(t.values);
}
