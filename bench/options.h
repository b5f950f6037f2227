/* SPDX-License-Identifier: MIT
 *
 * Command lines: options that are numbers, and a folder behind them.
 */
#ifndef BLOOMFILE_BENCH_OPTIONS_H
#define BLOOMFILE_BENCH_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct bench_option {
    const char *name; /* without the "--" */
    uint64_t *value;
    uint64_t usual, quick; /* where it is not given: without --quick, and with; 0: no other */
    uint64_t least, most;  /* most 0: it takes no number, and sets 1 */
};

/* Sets all values. There is --quick if an option has another value then, and --help. Returns
 * DIRECTORY, or NULL. What is wrong ends the program. */
const char *bench_options(int argc, char **argv, const char *help,
                          const struct bench_option *options, size_t count);

#endif
