/* SPDX-License-Identifier: MIT
 *
 * bench-live - what adding to a live filter costs, to those who add and to those who look up
 */
#include "live.h"

#include "harness/program.h"
#include "harness/scratch.h"

static uint64_t table, quick;
static const char *const tables[] = { "adds", "lookups", "disk", NULL };

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

const struct benchmark benchmark = {
    .what =
            "Adds to a live filter of 128 MiB, and lookups meanwhile.\n"
            "\n"
            "  adds     by 1, 2 and 4 threads and processes; with a lock around each, for comparison\n"
            "  lookups  of one thread, alone and while another one adds\n"
            "  disk     adds to a file in DIRECTORY, with and without sync\n"
            "\n"
            "The filters of the first two are in /dev/shm, which no disk slows down. A key that was lost is\n"
            "trouble.\n",
    .options = {
        OPTION_FLAG("quick", &quick, "seconds instead of minutes"),
        OPTION_WORD("table", &table, tables, "this alone"),
    },
    .room = room,
    .run = run,
};
