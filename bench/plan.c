/* SPDX-License-Identifier: MIT
 *
 * bench-plan - the cost of a filter that many machines build in slices, computed from measurements
 *
 * It prints three tables: how evenly slices fill with distinct keys; how unevenly they fill with
 * keys that are repeated by Zipf's law; and the plan, which is time, memory and network traffic of
 * each machine, from the times of hashing, building and joining on this machine.
 */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/program.h"

#define RATE   0.01
#define SEED   1
#define BATCH  4096
#define RECENT 65536 /* digests that a sender remembers, 8 bytes each */
#define BUCKET 65536 /* bytes of digests that a sender buffers for each machine */
#define LINE   61    /* bytes of a key */
#define WHOLE                                                                                      \
    ((uint64_t)10000000000000) /* bits of the filter for 10^12 keys, a multiple of 512             \
                                */
#define MOST 65536             /* slices */

static uint64_t keys, draws, network, disk, cores;

/* ---- distinct keys */

struct load {
    double most, mean; /* digests in the fullest slice; mean of all slices */
};

static struct load load_of(const uint64_t *counts, uint32_t slices)
{
    struct load load = { 0, 0 };
    for (uint32_t i = 0; i < slices; i++) {
        load.mean += (double)counts[i] / slices;
        if ((double)counts[i] > load.most)
            load.most = (double)counts[i];
    }
    return load;
}

/* The fullest slice, relative to the mean, exceeds this by chance once in 1000 runs at most. The
 * tail of a normal variable beyond t is below exp(-t^2 / 2), and there are `slices` such variables,
 * so exp(-t^2 / 2) * slices = 1 / 1000. */
static double bound(double mean, uint32_t slices)
{
    return 1 + sqrt(2 * log(1000.0 * slices) / mean);
}

static void distinct_row(uint32_t slices, uint64_t *counts)
{
    bloomfile_digest digests[BATCH];
    memset(counts, 0, slices * sizeof *counts);
    for (uint64_t done = 0; done < keys; done += BATCH) {
        const size_t n = keys - done < BATCH ? (size_t)(keys - done) : BATCH;
        bench_digests(SEED, done, digests, n);
        for (size_t i = 0; i < n; i++)
            counts[bloomfile_slice_of(WHOLE, slices, digests[i])]++;
    }
    const struct load load = load_of(counts, slices);
    const double most = load.most / load.mean, chance = bound(load.mean, slices);
    table_row("%" PRIu32 "|%.0f|%.5f|%.5f|%s|%.7f", slices, load.mean, most, chance,
              table_verdict(most <= chance), bound(1e12 / slices, slices));
}

static void distinct_table(void)
{
    uint64_t *counts = bench_memory(calloc(MOST, sizeof *counts));
    printf("%" PRIu64 " distinct keys\n\n", keys);
    table_start(">slices|>keys in one|>fullest / mean|>at most|verdict|>at most, 10^12 keys");
    for (uint32_t slices = 4; slices <= 4096; slices *= 4)
        distinct_row(slices, counts);
    table_end();
    free(counts);
}

/* ---- repeated keys */

/* Random ranks from 1 to `most`, rank k with probability proportional to k^-exponent, by rejection
 * inversion: W. Hormann, G. Derflinger, "Rejection-inversion to generate variates from monotone
 * discrete distributions", ACM TOMACS 6 (1996). */
struct zipf {
    double exponent, most, low, high, squeeze;
};

/* The integral of x^-exponent, and its inverse. */
static double area(double exponent, double x)
{
    return exponent == 1 ? log(x) : (pow(x, 1 - exponent) - 1) / (1 - exponent);
}

static double of_area(double exponent, double a)
{
    return exponent == 1 ? exp(a) : pow(1 + a * (1 - exponent), 1 / (1 - exponent));
}

static struct zipf zipf_of(double exponent, double most)
{
    struct zipf z = { .exponent = exponent, .most = most };
    z.low = area(exponent, 1.5) - 1;
    z.high = area(exponent, most + 0.5);
    z.squeeze = 2 - of_area(exponent, area(exponent, 2.5) - pow(2, -exponent));
    return z;
}

static uint64_t zipf_draw(const struct zipf *z, uint64_t *state)
{
    for (;;) {
        const double unit = (double)(bench_random((*state)++) >> 11) * 0x1p-53;
        const double a = z->high + unit * (z->low - z->high), x = of_area(z->exponent, a);
        double rank = floor(x + 0.5);
        rank = rank < 1 ? 1 : rank > z->most ? z->most : rank;
        if (rank - x <= z->squeeze || a >= area(z->exponent, rank + 0.5) - pow(rank, -z->exponent))
            return (uint64_t)rank;
    }
}

/* Remembers a digest. Returns whether it was sent recently. An empty slot is 0, like digest 0, so
 * digest 0 always counts as not sent. */
static bool recent(bloomfile_digest *table, bloomfile_digest digest)
{
    bloomfile_digest *slot = &table[digest % RECENT];
    const bool known = *slot == digest && digest != 0;
    *slot = digest;
    return known;
}

static void repeated_row(double exponent, uint32_t slices, uint64_t *counts)
{
    const struct zipf z = zipf_of(exponent, 1e10);
    bloomfile_digest *table = bench_memory(calloc(RECENT, sizeof *table));
    uint64_t *less = counts + MOST, state = 0, first = 0, sent = 0;
    memset(counts, 0, 2 * (size_t)MOST * sizeof *counts);
    for (uint64_t i = 0; i < draws; i++) {
        const uint64_t rank = zipf_draw(&z, &state);
        const bloomfile_digest digest = bloomfile_hash(SEED, &rank, sizeof rank);
        const uint32_t slice = bloomfile_slice_of(WHOLE, slices, digest);
        first += rank == 1;
        counts[slice]++;
        if (!recent(table, digest)) {
            less[slice]++;
            sent++;
        }
    }
    const struct load all = load_of(counts, slices), rest = load_of(less, slices);
    table_row("%.2f|%.2f %%|%.2f|%.1f %%|%.2f", exponent, 100 * (double)first / (double)draws,
              all.most / all.mean, 100 * (double)sent / (double)draws, rest.most / all.mean);
    free(table);
}

static void repeated_table(void)
{
    uint64_t *counts = bench_memory(calloc(2 * (size_t)MOST, sizeof *counts));
    printf("%" PRIu64 " keys of one sender, drawn by Zipf's law from 10^10, for 1000 machines; "
           "%d digests remembered. Chance alone makes the busiest at most %.2f.\n\n",
           draws, RECENT, bound((double)draws / 1000, 1000));
    table_start(
        ">exponent|>most frequent key|>busiest / mean|>sent if remembered|>busiest / mean of all");
    static const double exponents[] = { 0.5, 0.8, 1, 1.1, 1.3 };
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++)
        repeated_row(exponents[i], 1000, counts);
    table_end();
    free(counts);
}

/* ---- the plan */

struct costs {          /* seconds of one processor */
    double send, build; /* for each key */
    double join;        /* for each byte of the filter */
};

/* Hashes lines, drops digests that were just sent, and puts the rest into the machines' buckets. */
static double time_send(void)
{
    enum {
        LINES = 1 << 16,
        MACHINES = 1000,
        HELD = BUCKET / sizeof(bloomfile_digest)
    };
    char *lines = bench_memory(malloc((size_t)LINES * LINE));
    bloomfile_digest *table = bench_memory(calloc(RECENT, sizeof *table));
    bloomfile_digest *buckets = bench_memory(calloc(MACHINES, BUCKET));
    uint32_t held[MACHINES] = { 0 };
    const uint64_t rounds = keys / LINES + 1;
    memset(lines, 'x', (size_t)LINES * LINE);
    for (size_t i = 0; i < LINES; i++)
        memcpy(lines + i * LINE, &i, sizeof i);
    const double begin = bench_processor_seconds();
    for (uint64_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < LINES; i++) {
            const bloomfile_digest digest = bloomfile_hash(round, lines + i * LINE, LINE);
            const uint32_t to = bloomfile_slice_of(WHOLE, MACHINES, digest);
            if (!recent(table, digest))
                buckets[to * (size_t)HELD + held[to]++ % HELD] = digest;
        }
    const double end = bench_processor_seconds();
    free(buckets);
    free(table);
    free(lines);
    return (end - begin) / (double)(rounds * LINES);
}

/* Builds slice i of `slices`, each of which has `of_slice` keys. Returns seconds, without the time
 * to generate digests. */
static double time_build(const char *path, uint32_t i, uint32_t slices, uint64_t of_slice)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    bloomfile_digest digests[BATCH];
    const bloomfile_digest range = UINT64_MAX / slices, first = range * i;
    double seconds = 0;
    params.fpr = RATE;
    params.seed = SEED;
    params.capacity = slices * of_slice;
    params.slices = slices;
    params.slice = i;
    bench_check(bloomfile_builder_new(&builder, &params), "begin a slice");
    for (uint64_t done = 0; done < of_slice; done += BATCH) {
        for (size_t j = 0; j < BATCH; j++)
            digests[j] = first + bench_random(done + j) / slices;
        const double begin = bench_processor_seconds();
        bench_check(bloomfile_builder_add_digests(builder, digests, BATCH), "add digests");
        seconds += bench_processor_seconds() - begin;
    }
    const double begin = bench_processor_seconds();
    struct bloomfile_destination to = bloomfile_to_path(path, BLOOMFILE_TO_REPLACE);
    bench_check(bloomfile_builder_write(builder, &to), "build a slice");
    seconds += bench_processor_seconds() - begin;
    bloomfile_builder_free(builder);
    return seconds;
}

/* Returns seconds for each byte. */
static double time_join(void)
{
    enum {
        SLICES = 8
    };
    bloomfile_filter *slices[SLICES];
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    for (uint32_t i = 0; i < SLICES; i++) {
        char path[16];
        snprintf(path, sizeof path, "part%u", (unsigned)i);
        time_build(path, i, SLICES, keys / SLICES);
        slices[i] = bench_open(path, 0);
    }
    const double begin = bench_processor_seconds();
    /* Slices end at ends of pages, so each slice leaves out some of the digests above. */
    struct bloomfile_destination to = bloomfile_to_path("whole", 0);
    bench_check(bloomfile_join(&to, (const bloomfile_filter *const *)slices, SLICES, NULL,
                               BLOOMFILE_JOIN_ACCEPT_INCOMPLETE),
                "join");
    const double seconds = bench_processor_seconds() - begin;
    for (uint32_t i = 0; i < SLICES; i++)
        bloomfile_close(slices[i]);
    bloomfile_filter *whole = bench_open("whole", 0);
    bench_check(bloomfile_get_info(whole, &info), "ask a filter for its size");
    bloomfile_close(whole);
    return seconds / ((double)info.bits / 8);
}

static const char *amount(double bytes)
{
    static char texts[8][16];
    static unsigned next;
    static const char *const units[] = { "kB", "MB", "GB", "TB" };
    unsigned unit = 0;
    for (bytes /= 1000; bytes >= 1000 && unit < 3; bytes /= 1000)
        unit++;
    char *text = texts[next++ % 8];
    snprintf(text, sizeof texts[0], bytes < 10 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

static void plan_row(const struct costs *c, double all, double machines)
{
    struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
    size.keys = (uint64_t)all;
    size.fpr = RATE;
    bench_check(bloomfile_size_for(&size), "compute a size");
    const double whole = (double)size.bits / 8;
    const double line = (double)network * 1e9 / 8, disks = (double)disk * 1e6;
    const double each = all / machines, sent = 8 * each * (machines - 1) / machines;
    const double read = each * LINE / disks, hash = each * c->send / (double)cores;
    const double send = sent / line, build = each * c->build / (double)cores;
    const double write = whole / machines / disks;
    table_row("%.0e|%.0f|%s|%s|%s|%s|%.1f s|%.1f s|%.1f s|%.1f s|%.1f s|%.1f s|%.1f s", all,
              machines, amount(whole / machines), amount(2 * machines * BUCKET), amount(sent),
              amount(whole * (machines - 1) / machines), read, hash, send, build, write,
              read + hash + send + build + write, fmax(whole * c->join, whole / disks));
}

static void plan_table(void)
{
    const struct costs c = { time_send(), time_build("slice", 0, 1000, keys) / (double)keys,
                             time_join() };
    printf("measured here, of one processor: %.1f ns a key of %d bytes to hash it and find its "
           "machine, %.1f ns a digest to build a slice, %.2f s a GB to join. Assumed: %" PRIu64
           " processors, %" PRIu64 " Gbit/s and %" PRIu64
           " MB/s of disk a machine, one step after the other; rate %g.\n\n",
           1e9 * c.send, LINE, 1e9 * c.build, 1e9 * c.join, cores, network, disk, RATE);
    table_start(
        ">keys|>machines|>a slice|>buckets|>sent by each|>if wholes are ORed|>read|>hash|>send|"
        ">build|>write|>sum|>join by one");
    plan_row(&c, 1e9, 10);
    plan_row(&c, 1e10, 10);
    plan_row(&c, 1e10, 100);
    plan_row(&c, 1e11, 100);
    plan_row(&c, 1e12, 1000);
    table_end();
}

static void run(void)
{
    distinct_table();
    repeated_table();
    plan_table();
}

static uint64_t room(void)
{
    return 5 * keys;
}

const struct benchmark benchmark = {
    .what = "How evenly slices fill, and what a filter that many machines make costs each of them,\n"
            "computed from the times of hashing, building and joining on this one.\n",
    .options = {
        OPTION_NUMBER("keys", &keys, 100000000, 2000000, 65536, UINT64_C(10000000000),
               "distinct keys; and keys in the slice that is built"),
        OPTION_NUMBER("draws", &draws, 100000000, 2000000, 65536, UINT64_C(10000000000),
               "keys drawn by Zipf's law"),
        OPTION_NUMBER("network", &network, 10, 10, 1, 1000, "Gbit/s of a machine, in the plan"),
        OPTION_NUMBER("disk", &disk, 500, 500, 1, 100000, "MB/s that a machine reads or writes, in the plan"),
        OPTION_NUMBER("cores", &cores, 8, 8, 1, 1024, "processors of a machine, in the plan"),
    },
    .room = room,
    .run = run,
};
