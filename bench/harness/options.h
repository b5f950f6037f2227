/* SPDX-License-Identifier: MIT
 *
 * Command lines: options, most of them numbers, and a folder behind them.
 */
#ifndef BLOOMFILE_BENCH_OPTIONS_H
#define BLOOMFILE_BENCH_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct bench_option {
    const char *name; /* without the "--" */
    uint64_t *value;
    uint64_t usual, quick;    /* where it is not given: without --quick, and with; 0: no other */
    uint64_t least, most;     /* most 0: it takes no number, and sets 1 */
    const char *const *words; /* it takes one of these, and sets its index from 1; 0: not given */
};

#define OPTION_FLAG(its_name, variable)                                                            \
    {                                                                                              \
        .name = (its_name), .value = (variable)                                                    \
    }
#define OPTION_NUMBER(its_name, variable, its_usual, its_quick, its_least, its_most)               \
    {                                                                                              \
        .name = (its_name), .value = (variable), .usual = (its_usual), .quick = (its_quick),       \
        .least = (its_least), .most = (its_most)                                                   \
    }
#define OPTION_WORD(its_name, variable, list)                                                      \
    {                                                                                              \
        .name = (its_name), .value = (variable), .words = (list)                                   \
    }

/* Sets all values. There is --quick if an option has another value then, and --help. Returns
 * DIRECTORY, or NULL. What is wrong ends the program. */
const char *bench_options(int argc, char **argv, const char *help,
                          const struct bench_option *options, size_t count);

#endif
