/* SPDX-License-Identifier: MIT
 *
 * bench-rocksdb - the savings and costs of a filter in front of RocksDB
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/program.h"
#include "harness/residence.h"
#include "harness/scratch.h"
#include "rocksdb_rows.h"

#define ROW_ROOM 700 /* bytes on disk for each row */
#define RIBBONS  2   /* index of "ribbon" in layouts[], counted from 1 */

static uint64_t rows, gets, cold_gets, rounds, layout;
static const char *const layouts[] = { "blocked", "ribbon", NULL };

/* ---- figures */

enum figure {
    WRITE,
    OPEN,
    ONE_ABSENT,
    ONE_PRESENT,
    MANY_ABSENT,
    MANY_PRESENT,
    COLD_OPEN_BYTES,
    COLD_ABSENT_BYTES,
    COLD_PRESENT_BYTES,
    COLD_ABSENT,
    COLD_PRESENT,
    FILTER_BYTES,
    PROCESS_BYTES,
    FIGURES
};

static const struct {
    const char *name;
    double unit;
    int decimals;
} figures[FIGURES] = {
    [WRITE] = { "writing the SST file and filters, to disk, s", 1, 2 },
    [OPEN] = { "opening, files in memory, ms", 1e-3, 2 },
    [ONE_ABSENT] = { "get, absent, ns a key", 1e-9, 0 },
    [ONE_PRESENT] = { "get, present, ns a key", 1e-9, 0 },
    [MANY_ABSENT] = { "multi_get of 256, absent, ns a key", 1e-9, 0 },
    [MANY_PRESENT] = { "multi_get of 256, present, ns a key", 1e-9, 0 },
    [COLD_OPEN_BYTES] = { "cold: read by opening, KiB", 1024, 0 },
    [COLD_ABSENT_BYTES] = { "cold: read by a get, absent, bytes", 1, 0 },
    [COLD_PRESENT_BYTES] = { "cold: read by a get, present, bytes", 1, 0 },
    [COLD_ABSENT] = { "cold: get, absent, us", 1e-6, 1 },
    [COLD_PRESENT] = { "cold: get, present, us", 1e-6, 1 },
    [FILTER_BYTES] = { "filters on disk, KiB", 1024, 0 },
    [PROCESS_BYTES] = { "RocksDB's indexes and filters in each process, KiB", 1024, 0 },
};

static struct turns measured; /* a row for each mode, a turn for each round */

static double *measured_at(enum filter_mode mode, enum figure figure, size_t round)
{
    return turns_at(&measured, mode, figure, round);
}

/* Each mode comes first in the same number of rounds, because the first mode may find caches and
 * disk in another state. */
static enum filter_mode turn(unsigned place, size_t round)
{
    return (place + round) % MODES;
}

/* ---- rounds */

static void warm_gets(const struct opened opened[MODES], size_t round)
{
    static const struct {
        enum figure figure;
        get_all *get;
        bool present;
    } kinds[] = { { ONE_ABSENT, keys_get_each, false },
                  { ONE_PRESENT, keys_get_each, true },
                  { MANY_ABSENT, keys_get_batches, false },
                  { MANY_PRESENT, keys_get_batches, true } };
    const unsigned count = sizeof kinds / sizeof kinds[0];
    for (unsigned k = 0; k < count; k++) {
        struct keys keys = keys_choose(gets, kinds[k].present, round * count + k);
        for (unsigned i = 0; i < MODES; i++) {
            const enum filter_mode mode = turn(i, round);
            *measured_at(mode, kinds[k].figure, round) =
                keys_time(kinds[k].get, &opened[mode].guard, &keys, kinds[k].present);
        }
        keys_free(&keys);
    }
}

static void cold_round(enum filter_mode mode, size_t round, bool present)
{
    struct keys keys = keys_choose(cold_gets, present, round);
    scratch_evict(".");
    struct opened opened = rows_open(mode);
    const uint64_t bytes = residence_read_bytes();
    *measured_at(mode, present ? COLD_PRESENT : COLD_ABSENT, round) =
        keys_time(keys_get_each, &opened.guard, &keys, present);
    *measured_at(mode, present ? COLD_PRESENT_BYTES : COLD_ABSENT_BYTES, round) =
        (double)(residence_read_bytes() - bytes) / (double)cold_gets;
    *measured_at(mode, COLD_OPEN_BYTES, round) = (double)opened.read_bytes;
    rows_close(&opened);
    keys_free(&keys);
}

static void warm_round(const struct opened opened[MODES], size_t round)
{
    warm_gets(opened, round);
    for (unsigned i = 0; i < MODES; i++) {
        const enum filter_mode mode = turn(i, round);
        struct opened again = rows_open(mode);
        *measured_at(mode, OPEN, round) = again.seconds;
        rows_close(&again);
        *measured_at(mode, FILTER_BYTES, round) = (double)rows_filter_bytes(mode);
        *measured_at(mode, PROCESS_BYTES, round) = (double)rows_process_bytes(&opened[mode]);
    }
}

static void measure(void)
{
    struct opened opened[MODES];
    for (size_t round = 0; round < rounds; round++)
        for (unsigned i = 0; i < MODES; i++)
            *measured_at(turn(i, round), WRITE, round) = rows_write(turn(i, round));
    rows_ingest();
    for (unsigned mode = 0; mode < MODES; mode++) {
        opened[mode] = rows_open(mode);
        rows_warm(&opened[mode]);
    }
    for (size_t round = 0; round < rounds; round++)
        warm_round(opened, round);
    for (unsigned mode = 0; mode < MODES; mode++)
        rows_close(&opened[mode]);
    for (size_t round = 0; round < rounds; round++)
        for (unsigned i = 0; i < 2 * MODES; i++)
            cold_round(turn(i / 2, round), round, i % 2 == 1);
}

/* ---- the table */

static const char *ratio(double a, double b)
{
    return a > 0 && b > 0 ? table_number(a / b, 2) : "-";
}

static void run(void)
{
    const bool ribbons = layout == RIBBONS;
    rows_set(rows, ribbons);
    measured = turns_new(MODES, FIGURES, rounds);
    measure();
    printf("### bench-rocksdb: a %s in front of RocksDB, its own, and none\n\n",
           ribbons ? "ribbon" : "filter");
    table_start(
        "%" PRIu64 " rows; medians of %" PRIu64
        " rounds|>none|>RocksDB's|>bloomfile|>both|>none / bloomfile|>RocksDB's / bloomfile|"
        ">RocksDB's / both",
        rows, rounds);
    for (unsigned f = 0; f < FIGURES; f++) {
        double value[MODES];
        table_cells("%s", figures[f].name);
        for (unsigned mode = 0; mode < MODES; mode++) {
            value[mode] = turns_median(&measured, mode, f);
            table_cells("|%.*f", figures[f].decimals, value[mode] / figures[f].unit);
        }
        table_row("|%s|%s|%s", ratio(value[NO_FILTER], value[OUR_FILTER]),
                  ratio(value[ROCKSDB_FILTER], value[OUR_FILTER]),
                  ratio(value[ROCKSDB_FILTER], value[BOTH_FILTERS]));
    }
    table_end();
    scratch_report_stayed();
    free(measured.values);
}

static uint64_t room(void)
{
    return rows * ROW_ROOM;
}

const struct benchmark benchmark = {
    .what =
            "RocksDB with no filter, with its own (10 bits a key), with a filter of bloomfile in front, and with\n"
            "both. Medians of rounds in which all take turns. DIRECTORY must be on a disk for the cold gets to\n"
            "mean anything; 700 bytes a row are taken there.\n",
    .options = {
        OPTION_NUMBER("rows", &rows, 1000000, 100000, 1, 1000000000, "rows of 16 + 100 bytes"),
        OPTION_NUMBER("gets", &gets, 200000, 20000, 1, 100000000, "gets of each kind a round"),
        OPTION_NUMBER("cold", &cold_gets, 1000, 100, 1, 100000000, "gets a round from files that are not in memory"),
        OPTION_WORD("layout", &layout, layouts, "of bloomfile's filter, and the kind of RocksDB's: blocked if not given"),
        OPTION_NUMBER("rounds", &rounds, 8, 8, 1, MOST_TURNS, "rounds"),
    },
    .room = room,
    .run = run,
};
