/* SPDX-License-Identifier: MIT
 *
 * bench-view - filters without a file: rates of tiny ones, what each layout costs, and lookups
 */
#include <bloomfile_inspect.h>
#include <bloomfile_view.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/program.h"

#define QUERIES    1000 /* absent keys asked of each filter */
#define FILTERS    4000 /* of each shape */
#define TURNS      9
#define POOL_BYTES (1 << 15) /* timed filters together, so that all are in the nearest cache */
#define RATE       0.01

/* ---- filters of one shape */

struct pool {
    struct bloomfile_view view;
    uint64_t keys; /* in each */
    size_t count;
    size_t blob_size;
    uint8_t *blobs;
    bloomfile_digest *digests; /* the keys of one, then QUERIES absent ones */
};

static struct pool pool_of(const struct bloomfile_view *view, uint64_t keys, size_t count)
{
    struct pool pool = { *view, keys, count, view->size + BLOOMFILE_TRAILER_SIZE, NULL, NULL };
    pool.blobs = bench_memory(calloc(count, pool.blob_size));
    pool.digests = bench_memory(malloc((keys + QUERIES) * sizeof *pool.digests));
    return pool;
}

static void pool_release(struct pool *pool)
{
    free(pool->blobs);
    free(pool->digests);
}

static void fill(struct pool *pool, size_t i)
{
    uint8_t *blob = pool->blobs + i * pool->blob_size;
    bench_digests(i, 0, pool->digests, pool->keys + QUERIES);
    bloomfile_view_add_digests(&pool->view, blob, pool->digests, pool->keys);
    bloomfile_view_seal(&pool->view, 0, blob);
}

static double rate_of(struct pool *pool)
{
    uint64_t found = 0;
    for (size_t i = 0; i < pool->count; i++) {
        fill(pool, i);
        found += bloomfile_view_contains_digests(&pool->view, pool->blobs + i * pool->blob_size,
                                                 pool->digests + pool->keys, QUERIES, NULL);
    }
    return (double)found / (double)(pool->count * QUERIES);
}

/* ---- times of absent keys, each asked of another filter */

static uint64_t sink;

static void look_up(const struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        sink += bloomfile_view_contains_digest(&pool->view, pool->blobs + i * pool->blob_size,
                                               pool->digests[pool->keys + i % QUERIES]);
}

static void open_and_look_up(const struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        const uint8_t *blob = pool->blobs + i * pool->blob_size;
        struct bloomfile_view view;
        bench_check(bloomfile_view_open(&view, 0, blob, pool->blob_size), "open a compact filter");
        sink +=
            bloomfile_view_contains_digest(&view, blob, pool->digests[pool->keys + i % QUERIES]);
    }
}

static void trust_and_look_up(const struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        const uint8_t *blob = pool->blobs + i * pool->blob_size;
        struct bloomfile_view view;
        bench_check(bloomfile_view_open_trusted(&view, blob, pool->blob_size),
                    "open a compact filter");
        sink +=
            bloomfile_view_contains_digest(&view, blob, pool->digests[pool->keys + i % QUERIES]);
    }
}

/* Nanoseconds a filter. */
static double time_of(const struct pool *pool, void (*work)(const struct pool *pool))
{
    double times[TURNS];
    const unsigned passes = 500000 / (unsigned)pool->count + 1;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        const double start = bench_seconds();
        for (unsigned pass = 0; pass < passes; pass++)
            work(pool);
        times[turn] = (bench_seconds() - start) * 1e9 / ((double)passes * (double)pool->count);
    }
    return bench_median(times, TURNS);
}

/* ---- the table */

static void print_row(uint64_t keys, const struct bloomfile_view *view)
{
    struct pool pool = pool_of(view, keys, FILTERS * 20 / keys + 200);
    const double rate = rate_of(&pool);
    pool_release(&pool);
    pool = pool_of(view, keys, POOL_BYTES / (view->size + BLOOMFILE_TRAILER_SIZE) + 1);
    for (size_t i = 0; i < pool.count; i++)
        fill(&pool, i);
    table_row("%" PRIu64 "|%s|%u|%zu|%.2f|%.3f %%|%.3f %%|%.1f|%.1f|%.1f", keys,
              bench_layout_name(view->layout), view->hashes, view->size,
              (double)(8 * view->size) / (double)keys,
              100 * bloomfile_fpr_for(view->layout, view->bits, view->hashes, keys), 100 * rate,
              time_of(&pool, look_up), time_of(&pool, open_and_look_up),
              time_of(&pool, trust_and_look_up));
    pool_release(&pool);
}

static void start(const char *title)
{
    printf("### %s\n\n", title);
    table_start(">keys|layout|>k|>bytes|>bits a key|>rate in theory|>measured|>lookup, ns|"
                ">open and lookup, ns|>trusted open and lookup, ns");
}

static void print_rates_asked_for(void)
{
    static const uint64_t keys[] = { 20, 30, 40, 100, 200, 400, 800, 1600 };
    start("bench-view: 1 % asked for");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        for (uint32_t layout = BLOOMFILE_CLASSIC; layout >= BLOOMFILE_BLOCKED; layout--) {
            struct bloomfile_view view;
            bench_check(bloomfile_view_for(&view, layout, keys[i], RATE), "size a filter");
            print_row(keys[i], &view);
        }
    table_end();
}

static void print_bits_given(void)
{
    start("bench-view: 10 bits a key, classic");
    for (uint64_t keys = 20; keys <= 40; keys += 5) {
        struct bloomfile_view view;
        const uint64_t bits = 10 * keys;
        bench_check(bloomfile_view_init(&view, BLOOMFILE_CLASSIC, bits,
                                        bloomfile_hashes_for(BLOOMFILE_CLASSIC, bits, keys)),
                    "make a view");
        print_row(keys, &view);
    }
    table_end();
}

static void run(void)
{
    print_rates_asked_for();
    print_bits_given();
    if (sink == 0)
        bench_fail(0, "trust lookups that find nothing");
}

const struct benchmark benchmark = {
    .what = "The false-positive rates of filters of 20 to 1600 keys, and lookups in them.\n",
    .run = run,
};
