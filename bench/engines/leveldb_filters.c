/* SPDX-License-Identifier: MIT
 * Filters of data blocks alone, without a database. */
#include "leveldb.h"

#include <bloomfile_inspect.h>
#include <bloomfile_view.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "harness/bench.h"
#include "harness/table.h"

#define ABSENT        4096 /* keys, a power of two */
#define ASKED_OF_EACH 100  /* filters a round */
#define TRIALS        3

static const int group_sizes[] = { 20, 30, 40 };

struct filter {
    char *bytes;
    size_t size;
};

struct trial {
    struct subject subject;
    struct filter *filters;
    double make[ENGINE_MAX_ROUNDS], ask[ENGINE_MAX_ROUNDS];
};

/* Groups of neighbours. Behind each key that is present comes one that is not. */
struct groups {
    int size;
    uint64_t count;
    struct key *keys;
    const char **present;
    size_t *sizes;
};

static struct groups make_groups(int size, uint64_t count, bool random)
{
    const size_t keys = (size_t)size * count;
    struct groups g = { .size = size,
                        .count = count,
                        .keys = keys_make(2 * keys, random),
                        .present = bench_memory(malloc(keys * sizeof *g.present)),
                        .sizes = bench_memory(malloc((size_t)size * sizeof *g.sizes)) };
    for (size_t i = 0; i < keys; i++)
        g.present[i] = g.keys[2 * i].text;
    for (int i = 0; i < size; i++)
        g.sizes[i] = KEY_SIZE;
    return g;
}

static void free_groups(struct groups *g)
{
    free(g->keys);
    free(g->present);
    free(g->sizes);
}

static void free_filters(struct trial *t, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        free(t->filters[i].bytes);
}

/* ns a filter, with the memory for it. */
static double make_round(struct trial *t, const struct groups *g)
{
    const double start = bench_seconds();
    for (uint64_t i = 0; i < g->count; i++) {
        struct filter *f = &t->filters[i];
        f->bytes = subject_create_filter(&t->subject, g->present + i * (size_t)g->size, g->sizes,
                                         g->size, &f->size);
    }
    return (bench_seconds() - start) * 1e9 / (double)g->count;
}

/* ns a question about a key that is not there, each of another filter than the last. */
static double ask_round(struct trial *t, const struct groups *g)
{
    const size_t size = (size_t)g->size;
    const double start = bench_seconds();
    for (size_t j = 0; j < size; j++) {
        for (uint64_t i = 0; i < g->count; i++) {
            const struct filter *f = &t->filters[i];
            const char *absent = g->keys[2 * (i * size + j) + 1].text;
            subject_key_may_match(&t->subject, absent, KEY_SIZE, f->bytes, f->size);
        }
    }
    return (bench_seconds() - start) * 1e9 / (double)g->count / g->size;
}

/* Filters of one byte less for k, or of a trailer. */
static double theory(const struct trial *t, int keys)
{
    struct bloomfile_view view;
    const struct filter *f = &t->filters[0];
    if (bloomfile_view_open(&view, 0, f->bytes, f->size) == 0)
        return bloomfile_fpr_for(view.layout, view.bits, view.hashes, (uint64_t)keys);
    const uint32_t hashes = (uint8_t)f->bytes[f->size - 1];
    return bloomfile_fpr_for(BLOOMFILE_LAYOUT_CLASSIC, 8 * (f->size - 1), hashes, (uint64_t)keys);
}

static void print(struct trial *t, int keys, uint64_t rounds)
{
    const double rate = subject_rate(&t->subject), expected = theory(t, keys);
    table_row("%d|%s|%d|%zu|%.2f %%|%.2f %%|%.2f|%.0f|%.1f", keys, subject_label(&t->subject),
              t->subject.bits_per_key, t->filters[0].size, 100 * rate, 100 * expected,
              rate / expected, bench_median(t->make, rounds), bench_median(t->ask, rounds));
}

static void measure_group_size(int group_size, const struct measure_options *o)
{
    const int bits = (int)o->bits_per_key;
    /* 8 bytes for the trailer are 7 more than one for k. */
    struct trial trials[TRIALS] = {
        { .subject = subject_new(SUBJECT_BUILTIN, bits) },
        { .subject = subject_new(SUBJECT_BLOOMFILE, bits) },
        { .subject = subject_new(SUBJECT_BUILTIN, bits + 56 / group_size) },
    };
    struct groups groups = make_groups(group_size, o->filters, o->sequential == 0);
    for (struct trial *t = trials; t < trials + TRIALS; t++)
        t->filters = bench_memory(calloc(o->filters, sizeof *t->filters));
    for (unsigned round = 0; round < o->rounds; round++) {
        for (struct trial *t = trials; t < trials + TRIALS; t++) {
            free_filters(t, o->filters);
            t->make[round] = make_round(t, &groups);
            t->ask[round] = ask_round(t, &groups);
        }
    }
    for (struct trial *t = trials; t < trials + TRIALS; t++) {
        print(t, group_size, o->rounds);
        free_filters(t, o->filters);
        free(t->filters);
        subject_free(&t->subject);
    }
    free_groups(&groups);
}

void measure_filters(const struct measure_options *o)
{
    printf("### bench-leveldb: %" PRIu64 " filters of a size, %s keys, medians of %" PRIu64
           " rounds\n\n",
           o->filters, o->sequential == 0 ? "random" : "sequential", o->rounds);
    table_start(">keys|filters|>bits a key|>bytes|>false positives|>in theory|>ratio|>to make, ns|"
                ">to ask, ns");
    for (size_t i = 0; i < sizeof group_sizes / sizeof group_sizes[0]; i++)
        measure_group_size(group_sizes[i], o);
    table_end();
}
