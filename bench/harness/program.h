/* SPDX-License-Identifier: MIT
 *
 * The definitions of a benchmark that is a program of its own; main() is in program.c.
 */
#ifndef BLOOMFILE_BENCH_PROGRAM_H
#define BLOOMFILE_BENCH_PROGRAM_H

#include "harness/bench.h"
#include "harness/table.h"

#define PROGRAM_OPTIONS 8
#define MOST_TURNS      101

struct bench_option {
    const char *name, *what; /* the name without the "--"; NULL: there are no more */
    uint64_t *value;
    uint64_t usual, quick;    /* where it is not given: without --quick, and with; 0: no other */
    uint64_t least, most;     /* most 0: it takes no number, and sets 1 */
    const char *const *words; /* it takes one of these, and sets its index from 1; 0: not given */
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

/* There is --quick if an option has another value then, and --help. */
struct benchmark {
    const char *what; /* it does, in whole lines */
    struct bench_option options[PROGRAM_OPTIONS + 1];
    uint64_t (*room)(void); /* bytes of files; NULL: it makes none */
    const char *where;      /* the usual place for files; NULL: $TMPDIR, or /var/tmp */
    void (*run)(void);      /* in a new folder for files */
};

extern const struct benchmark benchmark;

#endif
