/* SPDX-License-Identifier: MIT
 *
 * bench-live - what adding to a live filter costs, to those who add and to those who look up
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "live.h"
#include "scratch.h"

static const char help[] =
    "usage: bench-live [--quick] [--table adds|lookups|disk] [DIRECTORY]\n"
    "Print tables of a live filter of 128 MiB, in Markdown; without --table all three.\n"
    "\n"
    "  adds     by 1, 2 and 4 threads and processes; with a lock around each, for comparison\n"
    "  lookups  of one thread, alone and while another one adds\n"
    "  disk     adds to a file in DIRECTORY ($TMPDIR or /var/tmp), with and without sync\n"
    "\n"
    "The filters of the first two are in /dev/shm, which no disk slows down. --quick takes\n"
    "seconds instead of minutes. A key that was lost ends the program with exit status 2.\n";

static const struct {
    const char *name;
    void (*print)(const struct live_options *o);
} tables[] = {
    { "adds", live_adds },
    { "lookups", live_lookups },
    { "disk", live_disk },
};

#define TABLES (sizeof tables / sizeof tables[0])

static bool known(const char *table)
{
    bool found = false;
    for (unsigned i = 0; i < TABLES; i++)
        found |= strcmp(tables[i].name, table) == 0;
    return found;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "quick", no_argument, NULL, 'q' },
        { "table", required_argument, NULL, 't' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    const char *only = NULL;
    struct live_options o = { 0 };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'q') {
            o.quick = true;
        } else if (option == 't' && known(optarg)) {
            only = optarg;
        } else {
            fputs(help, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : BENCH_TROUBLE;
        }
    }
    if (optind < argc - 1) {
        fputs(help, stderr);
        return BENCH_TROUBLE;
    }
    scratch_make("/dev/shm", "bench-live", LIVE_ROOM);
    o.memory = scratch_folder();
    scratch_make(optind < argc ? argv[optind] : NULL, "bench-live", LIVE_ROOM);
    o.disk = scratch_folder();
    for (unsigned i = 0; i < TABLES; i++)
        if (only == NULL || strcmp(only, tables[i].name) == 0)
            tables[i].print(&o);
    bench_flush();
    return 0;
}
