/* SPDX-License-Identifier: MIT
 *
 * bench-sstable - what filters save a reader of many tables
 */
#include <inttypes.h>
#include <math.h>
#include <mtbl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/program.h"
#include "harness/residence.h"
#include "harness/scratch.h"
#include "tablet.h"

#define KEY_SIZE   16
#define VALUE_SIZE 100
#define BATCH      256
#define COLD_GETS  100
#define MAX_STAYED 0.01 /* of what counts as cold */
#define ROW_ROOM   400  /* bytes, in both forms */
#define LARGE      1000000

static uint64_t tables, rows, rounds, ms, layout; /* rows of each table */

static const char *const layouts[] = { "blocked", "ribbon", NULL };

enum kind {
    WITHOUT,
    BESIDE,
    INSIDE,
    KINDS
};

static const char *const names[KINDS] = { "none", "sidecar", "embedded" };
static const char *const paths[KINDS] = { "sidecar", "sidecar", "embedded" };

enum figure {
    MISS,
    HIT,
    MISS_BATCH,
    HIT_BATCH,
    COLD_OPEN,
    COLD_MISS,
    COLD_HIT,
    FIGURES
};

/* ---- tables whose keys come from the whole range, so that every one must be searched for a key
 * that is absent */

/* Even numbers are present: row r of table t has 2 * (r * tables + t). */
static void print_key(uint64_t number, char key[KEY_SIZE + 1])
{
    snprintf(key, KEY_SIZE + 1, "%0*" PRIu64, KEY_SIZE, number % UINT64_C(10000000000000000));
}

/* A key of the sample, or one between two of them, by any number. */
static void sample_key(uint64_t number, bool present, char key[KEY_SIZE + 1])
{
    print_key(2 * (number % (rows * tables)) + !present, key);
}

/* Hexadecimal digits, so compression saves something less than half. */
static void fill_value(uint64_t number, char value[VALUE_SIZE])
{
    for (size_t i = 0; i < VALUE_SIZE; i += 16) {
        char digits[17];
        const size_t size = VALUE_SIZE - i < 16 ? VALUE_SIZE - i : 16;
        snprintf(digits, sizeof digits, "%016" PRIx64, bloomfile_hash(i, &number, sizeof number));
        memcpy(value + i, digits, size);
    }
}

struct stored {
    char key[KEY_SIZE + 1], value[VALUE_SIZE];
};

static void fill_table(uint64_t table, struct stored *stored, struct row *row)
{
    for (uint64_t r = 0; r < rows; r++) {
        const uint64_t number = 2 * (r * tables + table);
        print_key(number, stored[r].key);
        fill_value(number, stored[r].value);
        row[r] = (struct row){ .key = { stored[r].key, KEY_SIZE },
                               .value = { stored[r].value, VALUE_SIZE } };
    }
}

static void make_tablets(mtbl_compression_type compression)
{
    struct table_options beside = { .compression = compression,
                                    .layout = layout == 2 ? BLOOMFILE_LAYOUT_RIBBON
                                                          : BLOOMFILE_LAYOUT_BLOCKED,
                                    .fpr = 0.01 },
                         inside = beside;
    struct stored *stored = bench_memory(calloc(rows, sizeof *stored));
    struct row *row = bench_memory(calloc(rows, sizeof *row));
    inside.embedded = true;
    for (uint64_t table = 0; table < tables; table++) {
        fill_table(table, stored, row);
        tablet_put(paths[BESIDE], &(struct rows){ rows, row }, &beside);
        tablet_put(paths[INSIDE], &(struct rows){ rows, row }, &inside);
    }
    free(row);
    free(stored);
}

/* ---- lookups */

struct batch {
    char text[BATCH][KEY_SIZE + 1];
    struct bloomfile_key keys[BATCH];
    struct answer answers[BATCH];
};

static void choose_keys(struct batch *b, bool present)
{
    static uint64_t state; /* of the random numbers */
    for (size_t i = 0; i < BATCH; i++) {
        state++;
        sample_key(bench_random(state), present, b->text[i]);
        b->keys[i] = (struct bloomfile_key){ b->text[i], KEY_SIZE };
    }
}

static void look_up(const struct tablet *t, struct batch *b, size_t count, bool at_once,
                    bool present)
{
    if (at_once)
        tablet_get_many(t, b->keys, count, b->answers);
    for (size_t i = 0; i < count; i++) {
        if (!at_once)
            tablet_get(t, b->keys[i], &b->answers[i]);
        if (b->answers[i].found != present)
            bench_fail(0, "trust the tablet: it has a wrong answer");
    }
}

/* Microseconds a key. */
static double time_lookups(const struct tablet *t, struct batch *b, bool at_once, bool present)
{
    double elapsed = 0;
    uint64_t count = 0;
    for (; elapsed * 1e3 < (double)ms; count += BATCH) {
        choose_keys(b, present);
        const double start = bench_seconds();
        look_up(t, b, BATCH, at_once, present);
        elapsed += bench_seconds() - start;
    }
    return elapsed * 1e6 / (double)count;
}

/* ---- a tablet without filters, or with filters of one of the two forms */

static void open_tablet(struct tablet *t, enum kind kind)
{
    tablet_open(t, paths[kind], 0, kind == WITHOUT ? TABLE_NO_FILTER : 0);
}

static double kilobytes_read(void)
{
    const uint64_t bytes = residence_read_bytes();
    return bytes == 0 ? NAN : (double)bytes / 1e3;
}

/* What opening the tablet reads, and what the first lookups then read, each. */
static void read_cold(enum kind kind, struct batch *b, bool present, double *opening,
                      double *lookup)
{
    struct tablet t;
    const bool evicted = scratch_evict(paths[kind]) <= MAX_STAYED;
    const double before = kilobytes_read();
    open_tablet(&t, kind);
    const double opened = kilobytes_read();
    choose_keys(b, present);
    look_up(&t, b, COLD_GETS, false, present);
    *opening = evicted ? opened - before : NAN;
    *lookup = evicted ? (kilobytes_read() - opened) / COLD_GETS : NAN;
    tablet_close(&t);
}

static void measure_cold(struct batch *b, const struct turns *t)
{
    for (uint64_t round = 0; round < rounds; round++)
        for (enum kind kind = WITHOUT; kind < KINDS; kind++) {
            double *const opening = turns_at(t, kind, COLD_OPEN, round);
            read_cold(kind, b, false, opening, turns_at(t, kind, COLD_MISS, round));
            read_cold(kind, b, true, opening, turns_at(t, kind, COLD_HIT, round));
        }
}

/* What the first round finds is overwritten. */
static void measure_warm(struct batch *b, const struct turns *t)
{
    struct tablet tablets[KINDS];
    for (enum kind kind = WITHOUT; kind < KINDS; kind++)
        open_tablet(&tablets[kind], kind);
    for (uint64_t round = 0; round <= rounds; round++)
        for (enum figure figure = MISS; figure <= HIT_BATCH; figure++)
            for (enum kind kind = WITHOUT; kind < KINDS; kind++)
                *turns_at(t, kind, figure, round == 0 ? 0 : round - 1) =
                    time_lookups(&tablets[kind], b, figure >= MISS_BATCH, figure % 2 == HIT);
    for (enum kind kind = WITHOUT; kind < KINDS; kind++)
        tablet_close(&tablets[kind]);
}

/* ---- all of it */

/* Opening takes no less with filters. */
static void print_figure(const struct turns *t, enum kind kind, enum figure figure)
{
    const double value = turns_median(t, kind, figure),
                 less = turns_median(t, WITHOUT, figure) / value;
    if (isnan(value))
        table_cells("|-");
    else
        table_cells(value < 99.5 ? "|%.3g" : "|%.0f", value);
    if (!isnan(value) && !isnan(less) && kind != WITHOUT && figure != COLD_OPEN)
        table_cells(" (%.*f x less)", less < 10, less);
}

static void measure(mtbl_compression_type compression)
{
    static struct batch batch;
    struct turns t = turns_new(KINDS, FIGURES, rounds);
    make_tablets(compression);
    measure_warm(&batch, &t);
    measure_cold(&batch, &t);
    for (enum kind kind = WITHOUT; kind < KINDS; kind++) {
        table_cells("%" PRIu64 " x %" PRIu64 "|%s|%s", tables, rows,
                    mtbl_compression_type_to_str(compression), names[kind]);
        for (enum figure figure = MISS; figure < FIGURES; figure++)
            print_figure(&t, kind, figure);
        table_row("%s", "");
    }
    free(t.values);
    scratch_remove(paths[BESIDE]);
    scratch_remove(paths[INSIDE]);
}

static void run(void)
{
    const uint64_t last = rows == 0 ? LARGE : rows;
    printf("### bench-sstable: %" PRIu64 " tables whose keys overlap, medians of %" PRIu64
           " rounds\n\n",
           tables, rounds);
    table_start(">tables x rows|compression|filters|>miss, us|>hit, us|>miss of 256, us|"
                ">hit of 256, us|>cold open, kB|>cold miss, kB|>cold hit, kB");
    for (rows = rows == 0 ? 20000 : rows; rows <= last; rows = rows < last ? last : last + 1) {
        measure(MTBL_COMPRESSION_NONE);
        measure(MTBL_COMPRESSION_ZSTD);
    }
    table_end();
    scratch_report_stayed();
}

static uint64_t room(void)
{
    return tables * (rows == 0 ? LARGE : rows) * ROW_ROOM;
}

const struct benchmark benchmark = {
    .what =
            "Lookups in a tablet of tables that overlap: without filters, with filters beside the tables, and in\n"
            "them. DIRECTORY must be on a disk for the cold figures to mean anything.\n",
    .options = {
        OPTION_NUMBER("tables", &tables, 20, 20, 1, MANIFEST_TABLES, "tables"),
        OPTION_NUMBER("rows", &rows, 0, 20000, 1, 10000000, "rows of each table; usually 20000 and then 1000000 (8 GB of disk)"),
        OPTION_WORD("layout", &layout, layouts, "of the filters: blocked if not given"),
        OPTION_NUMBER("rounds", &rounds, 7, 3, 1, MOST_TURNS, "rounds, whose median counts"),
        OPTION_NUMBER("ms", &ms, 100, 20, 1, 60000, "how long each kind of lookup is measured in a round"),
    },
    .room = room,
    .run = run,
};
