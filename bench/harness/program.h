/* SPDX-License-Identifier: MIT
 *
 * The description of a benchmark that is a program of its own. main() is in program.c.
 */
#ifndef BLOOMFILE_BENCH_PROGRAM_H
#define BLOOMFILE_BENCH_PROGRAM_H

#include "harness/bench.h"
#include "harness/table.h"

#define PROGRAM_OPTIONS 8
#define MOST_TURNS      101

struct bench_option {
    const char *name, *what; /* the name without "--"; NULL ends the list */
    uint64_t *value;
    uint64_t usual, quick;    /* defaults, without and with --quick; a `quick` of 0 is as `usual` */
    uint64_t least, most;     /* range of the number; if `most` is 0, a flag that sets 1 */
    const char *const *words; /* the allowed words: sets the index, counted from 1 */
};

#define OPTION_FLAG(its_name, variable, meaning)                                                   \
    {                                                                                              \
        .name = (its_name), .value = (variable), .what = (meaning)                                 \
    }
#define OPTION_NUMBER(its_name, variable, its_usual, its_quick, its_least, its_most, meaning)      \
    {                                                                                              \
        .name = (its_name), .value = (variable), .usual = (its_usual), .quick = (its_quick),       \
        .least = (its_least), .most = (its_most), .what = (meaning)                                \
    }
#define OPTION_WORD(its_name, variable, list, meaning)                                             \
    {                                                                                              \
        .name = (its_name), .value = (variable), .words = (list), .what = (meaning)                \
    }

/* Every benchmark has --help, and --quick if an option has another default with it. */
struct benchmark {
    const char *what; /* description, in whole lines */
    struct bench_option options[PROGRAM_OPTIONS + 1];
    uint64_t (*room)(void); /* bytes of files; NULL if it makes no files */
    const char *where;      /* default place for files; if NULL, $TMPDIR or /var/tmp */
    void (*run)(void);      /* runs in a new folder for files */
};

extern const struct benchmark benchmark;

#endif
