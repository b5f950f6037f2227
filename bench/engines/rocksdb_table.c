/* SPDX-License-Identifier: MIT */
#include "rocksdb.h"

#include <inttypes.h>
#include <stdio.h>

#include "harness/bench.h"

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

static void print_ratio(double a, double b)
{
    if (a > 0 && b > 0)
        printf(" | %.2f", a / b);
    else
        printf(" | -");
}

static void print_figure(enum figure figure, uint64_t rounds)
{
    double value[MODES];
    printf("| %s", figures[figure].name);
    for (unsigned mode = 0; mode < MODES; mode++) {
        value[mode] = bench_median(measured[figure][mode], rounds);
        printf(" | %.*f", figures[figure].decimals, value[mode] / figures[figure].unit);
    }
    print_ratio(value[NO_FILTER], value[OUR_FILTER]);
    print_ratio(value[ROCKSDB_FILTER], value[OUR_FILTER]);
    print_ratio(value[ROCKSDB_FILTER], value[BOTH_FILTERS]);
    printf(" |\n");
}

void measure_print(const struct measure_options *o)
{
    printf("### bench-rocksdb: a filter in front of RocksDB, its own, and none\n\n"
           "| %" PRIu64 " rows; medians of %" PRIu64
           " rounds | none | RocksDB's | bloomfile | both "
           "| none / bloomfile | RocksDB's / bloomfile | RocksDB's / both |\n"
           "|---|---:|---:|---:|---:|---:|---:|---:|\n",
           o->rows, o->rounds);
    for (unsigned figure = 0; figure < FIGURES; figure++)
        print_figure(figure, o->rounds);
}
