/* SPDX-License-Identifier: MIT
 *
 * bench-rocksdb - what a filter in front of RocksDB saves, and costs
 */
#include "rocksdb.h"

#include "harness/bench.h"
#include "harness/options.h"
#include "harness/scratch.h"

#define ROW_ROOM 700 /* bytes */

static const char help[] =
    "usage: bench-rocksdb [--quick] [--rows N] [--gets N] [--cold N] [--rounds N] [DIRECTORY]\n"
    "Print a table: RocksDB with no filter, with its own (10 bits a key), with a filter of\n"
    "bloomfile in front, and with both. Medians of rounds in which all take turns. Files are in\n"
    "DIRECTORY ($TMPDIR or /var/tmp), which must be on a disk for the cold gets to mean\n"
    "anything, and take 700 bytes a row there.\n"
    "\n"
    "  --rows N     rows of 16 + 100 bytes (1000000)\n"
    "  --gets N     gets of each kind a round (200000)\n"
    "  --cold N     gets a round from files that are not in memory (1000)\n"
    "  --rounds N   rounds (8)\n"
    "  --quick      a tenth of the rows and gets\n";

int main(int argc, char **argv)
{
    struct measure_options o;
    const struct bench_option options[] = {
        OPTION_NUMBER("rows", &o.rows, 1000000, 100000, 1, 1000000000),
        OPTION_NUMBER("gets", &o.gets, 200000, 20000, 1, 100000000),
        OPTION_NUMBER("cold", &o.cold_gets, 1000, 100, 1, 100000000),
        OPTION_NUMBER("rounds", &o.rounds, 8, 8, 1, ENGINE_MAX_ROUNDS),
    };
    const char *where =
        bench_options(argc, argv, help, options, sizeof options / sizeof options[0]);
    scratch_make(where, "bench-rocksdb", o.rows * ROW_ROOM);
    scratch_enter();
    measure_writes(&o);
    measure_gets(&o);
    measure_cold(&o);
    measure_print(&o);
    bench_flush();
    engine_report_stayed();
    return 0;
}
