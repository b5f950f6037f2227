/* SPDX-License-Identifier: MIT
 * Options, a folder for files, the work, the exit status. */
#include "harness/program.h"

#include <errno.h>

#include "harness/scratch.h"

int main(int argc, char **argv)
{
    const char *where =
        bench_options(argc, argv, benchmark.help, benchmark.options, benchmark.options_count);
    if (where != NULL && benchmark.room == NULL)
        bench_fail(0, "take a folder; see --help");
    if (benchmark.room != NULL) {
        scratch_make(where != NULL ? where : benchmark.where, program_invocation_short_name,
                     benchmark.room());
        scratch_enter();
    }
    benchmark.run();
    bench_flush();
    return table_status();
}
