/* SPDX-License-Identifier: MIT
 *
 * bench-series - lookups in series of 1 to 8 layers, in one filter, and reads of one line per layer
 */
#include <bloomfile_block.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/program.h"

#define QUERIES ((size_t)1 << 19)
#define BATCH   4096
#define SMALL   32 /* keys of a small batch; digests between prefetching a line and reading it */
#define MOST    8  /* layers */
#define FPR     0.01

static uint64_t keys, only, turns;

/* ---- the filters */

enum {
    ONE,
    SEALED,
    LIVE,
    FORGETTING,
    LINES,
    ROWS
};

static const char *const names[ROWS] = { "one filter", "growing, sealed", "growing, live",
                                         "forgetting, live", "lines of the sealed series" };

static bloomfile_filter *filters[ROWS];

static struct {
    const uint8_t *body;
    uint64_t blocks;
} lines[MOST];
static size_t lines_count;

static void add_all(bloomfile_filter *f)
{
    bloomfile_digest digests[BATCH];
    for (uint64_t done = 0, n; done < keys; done += n) {
        n = keys - done < BATCH ? keys - done : BATCH;
        bench_digests(0, done, digests, n);
        bench_check(bloomfile_add_digests(f, digests, n, NULL, NULL, NULL), "add keys");
    }
}

/* Creates a series with all keys, and opens it for reading. */
static bloomfile_filter *create(const char *path, uint64_t capacity, uint32_t series)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_filter *f;
    params.capacity = capacity;
    params.fpr = FPR;
    params.series = series;
    bench_check(bloomfile_create(&f, path, &params, 0), "create a series");
    add_all(f);
    bloomfile_close(f);
    return bench_open(path, BLOOMFILE_OPEN_PREFAULT);
}

static bloomfile_filter *seal(const char *path, const bloomfile_filter *f)
{
    struct bloomfile_destination to = bloomfile_to_path(path, 0);
    bench_check(bloomfile_copy_sealed(&to, f, NULL), "seal a series");
    return bench_open(path, BLOOMFILE_OPEN_PREFAULT | BLOOMFILE_OPEN_VERIFY_FULL);
}

static bloomfile_filter *build(const char *path)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    params.capacity = keys;
    params.fpr = FPR;
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    bench_add_keys(builder, 0, 0, keys);
    struct bloomfile_destination to = bloomfile_to_path(path, 0);
    bench_check(bloomfile_builder_write(builder, &to), "build a filter");
    bloomfile_builder_free(builder);
    return bench_open(path, BLOOMFILE_OPEN_PREFAULT | BLOOMFILE_OPEN_VERIFY_FULL);
}

static struct bloomfile_info info_of(const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    return info;
}

/* The layers of a sealed series lie one after the other in its file. */
static void map_lines(const char *path, const bloomfile_filter *f)
{
    const int fd = bench_call(open(path, O_RDONLY | O_CLOEXEC), "open a series");
    const size_t size = (size_t)lseek(fd, 0, SEEK_END);
    const uint8_t *file = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (file == MAP_FAILED)
        bench_fail(0, "map a series");
    close(fd);
    lines_count = bloomfile_layers(f);
    for (size_t i = 0; i < lines_count; i++) {
        const struct bloomfile_info info = info_of(bloomfile_layer(f, i));
        lines[i].body = file + size - info.rest_size + info.body_offset;
        lines[i].blocks = info.bits / 512;
    }
}

static void make(unsigned layers)
{
    const uint64_t parts = ((uint64_t)1 << layers) - 1; /* each layer has twice the capacity */
    filters[ONE] = build("one.bloom");
    filters[LIVE] = create("growing.bloom", keys / parts + 1, BLOOMFILE_SERIES_GROW);
    filters[SEALED] = seal("sealed.bloom", filters[LIVE]);
    filters[FORGETTING] = create("forgetting.bloom", keys / layers + 1, layers > 2 ? layers : 2);
    map_lines("sealed.bloom", filters[SEALED]);
    for (size_t row = SEALED; row <= FORGETTING; row++)
        if (bloomfile_layers(filters[row]) != layers)
            bench_fail(0, "compare series: one has another number of layers");
}

static void drop(void)
{
    static const char *const paths[] = { "one.bloom", "sealed.bloom", "growing.bloom",
                                         "forgetting.bloom" };
    for (size_t row = 0; row <= FORGETTING; row++)
        bloomfile_close(filters[row]);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        bench_check(bloomfile_unlink(paths[i]), "remove a filter");
}

/* ---- lookups */

static bloomfile_digest *absent, *present;
static size_t sink;

static inline const uint8_t *line(size_t layer, bloomfile_digest digest)
{
    return bloomfile_block_of(lines[layer].body, lines[layer].blocks, digest);
}

static inline size_t read_lines(bloomfile_digest digest)
{
    size_t sum = 0;
    for (size_t layer = 0; layer < lines_count; layer++)
        sum += *line(layer, digest);
    return sum;
}

static inline void request_lines(bloomfile_digest digest)
{
    for (size_t layer = 0; layer < lines_count; layer++)
        __builtin_prefetch(line(layer, digest));
}

/* Prefetches the lines of the first SMALL digests of a batch. Then it prefetches SMALL digests
 * ahead of the digest whose lines it reads; batches of SMALL have no such digests. */
static void read_batches(const bloomfile_digest *digests, size_t batch)
{
    for (const bloomfile_digest *end = digests + QUERIES; digests < end; digests += batch) {
        for (size_t i = 0; i < SMALL; i++)
            request_lines(digests[i]);
        for (size_t i = 0; i < batch; i++) {
            if (i + SMALL < batch)
                request_lines(digests[i + SMALL]);
            sink += read_lines(digests[i]);
        }
    }
}

static void read_one_by_one(const bloomfile_digest *digests)
{
    for (size_t i = 0; i < QUERIES; i++)
        sink += read_lines(digests[i]);
}

static size_t look_up_batches(const bloomfile_filter *f, const bloomfile_digest *digests,
                              size_t batch)
{
    bool hits[BATCH];
    size_t found = 0;
    for (size_t i = 0; i < QUERIES; i += batch)
        found += bloomfile_contains_digests(f, digests + i, batch, hits);
    return found;
}

static size_t look_up_one_by_one(const bloomfile_filter *f, const bloomfile_digest *digests)
{
    size_t found = 0;
    for (size_t i = 0; i < QUERIES; i++)
        found += bloomfile_contains_digest(f, digests[i]);
    return found;
}

static void look_up(size_t row, const bloomfile_digest *digests, size_t batch)
{
    if (row == LINES && batch == 1) {
        read_one_by_one(digests);
    } else if (row == LINES) {
        read_batches(digests, batch);
    } else {
        const size_t found = batch == 1 ? look_up_one_by_one(filters[row], digests)
                                        : look_up_batches(filters[row], digests, batch);
        if (digests == present && found != QUERIES)
            bench_fail(0, "trust a filter: it has lost keys");
        sink += found;
    }
}

static const size_t batches[] = { 1, SMALL, BATCH };
enum {
    SIZES = sizeof batches / sizeof batches[0],
    FIGURES = 2 * SIZES /* for absent keys, then for present keys */
};

static void measure(size_t row, double *figures)
{
    look_up(row, absent, SMALL); /* fills the caches */
    for (size_t i = 0; i < FIGURES; i++) {
        const double start = bench_processor_seconds();
        look_up(row, i < SIZES ? absent : present, batches[i % SIZES]);
        figures[i] = (bench_processor_seconds() - start) * 1e9 / (double)QUERIES;
    }
}

/* ---- the table */

static void print_ratios(const struct turns *t, size_t row, size_t to)
{
    for (size_t i = 0; i < SIZES; i++)
        table_cells("|%.2f", turns_ratio(t, row, to, i));
}

static void print_row(const struct turns *t, size_t row, unsigned layers)
{
    table_cells("%s|%u", names[row], row == ONE ? 1 : layers);
    for (size_t i = 0; i < FIGURES; i++)
        table_cells("|%.1f", turns_median(t, row, i));
    print_ratios(t, row, ONE);
    print_ratios(t, row, LINES);
    table_row("%s", "");
}

static void run(void)
{
    absent = bench_memory(malloc(QUERIES * sizeof *absent));
    present = bench_memory(malloc(QUERIES * sizeof *present));
    bench_digests(0, (uint64_t)1 << 40, absent, QUERIES);
    for (size_t i = 0; i < QUERIES; i++)
        bench_digests(0, bench_random(i) % keys, &present[i], 1);
    printf("%" PRIu64 " keys, %.0f%%; ns of processor time a key, medians of %" PRIu64
           " turns: one by one, in batches of %d and %d;\n"
           "ratios of absent keys to one filter (x filter) and to the lines (x lines)\n\n",
           keys, 100 * FPR, turns, SMALL, BATCH);
    table_start("|>layers|>absent: 1|>%d|>%d|>present: 1|>%d|>%d|>x filter: 1|>%d|>%d"
                "|>x lines: 1|>%d|>%d",
                SMALL, BATCH, SMALL, BATCH, SMALL, BATCH, SMALL, BATCH);
    for (unsigned layers = 1; layers <= MOST; layers++) {
        if (only != 0 ? layers != only : layers % 2 == 1 && layers > 3)
            continue;
        make(layers);
        struct turns t = turns_take(ROWS, FIGURES, turns, measure);
        for (size_t row = 0; row < ROWS; row++)
            print_row(&t, row, layers);
        free(t.values);
        drop();
    }
    table_end();
    free(absent);
    free(present);
}

/* 10 bits a key for one filter, up to 30 for a growing series, its copy and a forgetting series. */
static uint64_t room(void)
{
    return keys * 16 + (1 << 22);
}

const struct benchmark benchmark = {
    .what = "Lookups in series of 1, 2, 3, 4, 6 and 8 layers. A lost key is an error.\n",
    .options = {
        OPTION_NUMBER("keys", &keys, 10000000, 1000000, 10000, 1000000000, "keys of each filter"),
        OPTION_NUMBER("layers", &only, 0, 0, 1, MOST, "only series of this many layers"),
        OPTION_NUMBER("turns", &turns, 11, 3, 1, MOST_TURNS, "turns of lookups"),
    },
    .room = room,
    .where = "/dev/shm",
    .run = run,
};
