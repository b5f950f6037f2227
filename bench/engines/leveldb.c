/* SPDX-License-Identifier: MIT
 *
 * bench-leveldb - LevelDB with bloomfile's filters, with its own filters, and without filters
 */
#include "leveldb.h"

#include "harness/program.h"
#include "harness/scratch.h"

static struct measure_options o;
static uint64_t only_filters;

static void run(void)
{
    o.filters = o.rows / 50;
    if (only_filters != 0)
        measure_filters(&o);
    else
        measure_databases(&o);
    scratch_report_stayed();
}

static uint64_t room(void)
{
    return only_filters != 0 ? 0 : 6 * o.rows * (KEY_SIZE + o.value_size) + ((uint64_t)64 << 20);
}

const struct benchmark benchmark = {
    .what =
            "Databases with filters of bloomfile, LevelDB's own, and none, which take 310 MB with the usual\n"
            "numbers; or, with --filters, the filters of data blocks alone. The last has LevelDB's filters, but\n"
            "as large as ours are with their trailer.\n"
            "\n"
            "Times are those of a whole round by its number of gets; in parentheses, the ratio to the\n"
            "time without filters. Warm: all blocks are in LevelDB's cache. Cold: the filters are in\n"
            "memory and no data is; files are read page by page, without reading ahead, and their\n"
            "bytes counted by /proc/self/io. Absent keys lie between neighbours that are present.\n",
    .options = {
        OPTION_NUMBER("rows", &o.rows, 1000000, 50000, 1000, 100000000, "rows of each database"),
        OPTION_NUMBER("size", &o.value_size, 100, 100, 0, 1000000, "bytes of a value"),
        OPTION_NUMBER("bits", &o.bits_per_key, 10, 10, 1, 50, "bits a key"),
        OPTION_NUMBER("rounds", &o.rounds, 5, 3, 1, MOST_TURNS, "rounds, whose medians are shown"),
        OPTION_NUMBER("warm", &o.warm, 100000, 10000, 1, 100000000, "gets a round, of absent and of present keys"),
        OPTION_NUMBER("cold", &o.cold, 1000, 100, 1, 100000000, "gets a round, of either, with no data in memory"),
        OPTION_FLAG("sequential", &o.sequential, "keys user000000000000 and so on, instead of random ones"),
        OPTION_FLAG("filters", &only_filters, "no database; filters of 20, 30 and 40 keys, a fiftieth of the rows of each"),
    },
    .room = room,
    .run = run,
};
