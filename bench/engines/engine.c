/* SPDX-License-Identifier: MIT
 * The worst eviction is told at the end. */
#include "engine.h"

#include <errno.h>
#include <stdio.h>

#include "harness/bench.h"
#include "harness/residence.h"

static double most_stayed;

double engine_evict(const char *folder)
{
    double stayed;
    bench_check(residence_drop_all(folder, &stayed), "take files out of memory");
    if (stayed > most_stayed)
        most_stayed = stayed;
    return stayed;
}

void engine_report_stayed(void)
{
    if (most_stayed > 0)
        fprintf(stderr,
                "%s: up to %.1f %% of the files stayed in memory: the cold figures are too good\n",
                program_invocation_short_name, 100 * most_stayed);
}
