/* SPDX-License-Identifier: MIT
 *
 * bench-live - what adding to a live filter costs, to those who add and to those who look up
 */
#include "live.h"

#include "harness/program.h"
#include "harness/scratch.h"

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

static uint64_t table, quick;
static const char *const tables[] = { "adds", "lookups", "disk", NULL };

static const struct bench_option options[] = {
    OPTION_FLAG("quick", &quick),
    OPTION_WORD("table", &table, tables),
};

static void run(void)
{
    void (*const print[])(const struct live_options *) = { live_adds, live_lookups, live_disk };
    struct live_options o = { .disk = ".", .quick = quick != 0 };
    scratch_make("/dev/shm", "bench-live", LIVE_ROOM);
    o.memory = scratch_folder();
    for (unsigned i = 0; i < sizeof print / sizeof print[0]; i++)
        if (table == 0 || table == i + 1)
            print[i](&o);
}

static uint64_t room(void)
{
    return LIVE_ROOM;
}

const struct benchmark benchmark = { help, options, 2, room, NULL, run };
