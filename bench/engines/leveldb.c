/* SPDX-License-Identifier: MIT
 *
 * bench-leveldb - our filters beside LevelDB's own, and beside none
 */
#include "leveldb.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "harness/program.h"

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

static struct measure_options o;
static uint64_t only_filters;

static const struct bench_option options[] = {
    OPTION_NUMBER("rows", &o.rows, 1000000, 50000, 1000, 100000000),
    OPTION_NUMBER("size", &o.value_size, 100, 100, 0, 1000000),
    OPTION_NUMBER("bits", &o.bits_per_key, 10, 10, 1, 50),
    OPTION_NUMBER("rounds", &o.rounds, 5, 3, 1, ENGINE_MAX_ROUNDS),
    OPTION_NUMBER("warm", &o.warm, 100000, 10000, 1, 100000000),
    OPTION_NUMBER("cold", &o.cold, 1000, 100, 1, 100000000),
    OPTION_FLAG("sequential", &o.sequential),
    OPTION_FLAG("filters", &only_filters),
};

uint64_t scattered(uint64_t i, uint64_t end)
{
    return bench_random(i) % end;
}

static struct key make(uint64_t i, bool random)
{
    char text[32];
    struct key key;
    if (random)
        snprintf(text, sizeof text, "%016" PRIx64, bench_random(i));
    else
        snprintf(text, sizeof text, "user%012" PRIu64, i);
    memcpy(key.text, text, sizeof key.text);
    return key;
}

static int in_order(const void *a, const void *b)
{
    return memcmp(a, b, KEY_SIZE);
}

struct key *keys_make(size_t count, bool random)
{
    struct key *keys = bench_memory(malloc(count * sizeof *keys));
    for (size_t i = 0; i < count; i++)
        keys[i] = make(i, random);
    if (random)
        qsort(keys, count, sizeof *keys, in_order);
    return keys;
}

static void run(void)
{
    o.filters = o.rows / 50;
    if (only_filters != 0)
        measure_filters(&o);
    else
        measure_databases(&o);
    engine_report_stayed();
}

static uint64_t room(void)
{
    return only_filters != 0 ? 0 : 6 * o.rows * (KEY_SIZE + o.value_size) + ((uint64_t)64 << 20);
}

const struct benchmark benchmark = { help, options, 8, room, NULL, run };
