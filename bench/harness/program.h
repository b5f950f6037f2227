/* SPDX-License-Identifier: MIT
 *
 * What a benchmark defines that is a program of its own; main() is in program.c.
 */
#ifndef BLOOMFILE_BENCH_PROGRAM_H
#define BLOOMFILE_BENCH_PROGRAM_H

#include "harness/bench.h"
#include "harness/options.h"
#include "harness/table.h"

struct benchmark {
    const char *help;
    const struct bench_option *options;
    size_t options_count;
    uint64_t (*room)(void); /* bytes of files; NULL: it makes none */
    const char *where;      /* the usual place for files; NULL: $TMPDIR, or /var/tmp */
    void (*run)(void);      /* in a new folder for files */
};

extern const struct benchmark benchmark;

#endif
