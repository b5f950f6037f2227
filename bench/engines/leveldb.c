/* SPDX-License-Identifier: MIT
 *
 * bench-leveldb - our filters beside LevelDB's own, and beside none
 */
#include "leveldb.h"

#include "engine.h"
#include "harness/bench.h"
#include "harness/options.h"
#include "harness/scratch.h"
#include "leveldb_keys.h"

static const char help[] =
    "usage: bench-leveldb [OPTIONS] [DIRECTORY]\n"
    "Print one table: databases with filters of bloomfile, LevelDB's own, and none; or, with\n"
    "--filters, the filters of data blocks alone. The four databases are in DIRECTORY ($TMPDIR\n"
    "or /var/tmp), and take 310 MB with the defaults.\n"
    "\n"
    "  --rows N      rows of each database (1000000)\n"
    "  --size N      bytes of a value (100)\n"
    "  --bits N      bits a key (10); the last has LevelDB's filters, but as large as ours are\n"
    "                with their trailer\n"
    "  --rounds N    rounds, whose medians are shown (5)\n"
    "  --warm N      gets a round, of absent and of present keys (100000)\n"
    "  --cold N      gets a round, of either, with no data in memory (1000)\n"
    "  --sequential  keys user000000000000 and so on, instead of random ones\n"
    "  --filters     no database; filters of 20, 30 and 40 keys, a fiftieth of the rows of each\n"
    "  --quick       50000 rows, 3 rounds of 10000 gets and 100 cold ones\n"
    "\n"
    "Times are those of a whole round by its number of gets; in parentheses, the ratio to the\n"
    "time without filters. Warm: all blocks are in LevelDB's cache. Cold: the filters are in\n"
    "memory and no data is; files are read page by page, without reading ahead, and their\n"
    "bytes counted by /proc/self/io. Absent keys lie between neighbours that are present.\n";

static uint64_t room(const struct measure_options *o)
{
    return 6 * o->rows * (KEY_SIZE + o->value_size) + ((uint64_t)64 << 20);
}

int main(int argc, char **argv)
{
    struct measure_options o;
    uint64_t only_filters;
    const struct bench_option options[] = {
        OPTION_NUMBER("rows", &o.rows, 1000000, 50000, 1000, 100000000),
        OPTION_NUMBER("size", &o.value_size, 100, 100, 0, 1000000),
        OPTION_NUMBER("bits", &o.bits_per_key, 10, 10, 1, 50),
        OPTION_NUMBER("rounds", &o.rounds, 5, 3, 1, ENGINE_MAX_ROUNDS),
        OPTION_NUMBER("warm", &o.warm, 100000, 10000, 1, 100000000),
        OPTION_NUMBER("cold", &o.cold, 1000, 100, 1, 100000000),
        OPTION_FLAG("sequential", &o.sequential),
        OPTION_FLAG("filters", &only_filters),
    };
    const char *where =
        bench_options(argc, argv, help, options, sizeof options / sizeof options[0]);
    o.filters = o.rows / 50;
    if (only_filters != 0) {
        measure_filters(&o);
    } else {
        scratch_make(where, "bench-leveldb", room(&o));
        scratch_enter();
        measure_databases(&o);
    }
    bench_flush();
    engine_report_stayed();
    return 0;
}
