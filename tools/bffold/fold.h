/* SPDX-License-Identifier: MIT
 *
 * The plan of a fold: factors, sizes and rates, and how bffold shows them.
 */
#ifndef BLOOMFILE_TOOLS_FOLD_H
#define BLOOMFILE_TOOLS_FOLD_H

#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>

#include <stdio.h>

#define FOLD_AS_MANY UINT64_MAX

struct fold_wish {
    double fpr;         /* 0: what the filter promises */
    uint64_t factor;    /* 0: the greatest that keeps the rate, or ... */
    uint64_t max_bytes; /* ... the smallest that is so small; 0: no limit */
    uint64_t more;      /* FOLD_AS_MANY: as there are */
    bool all;           /* show the factors too that make it useless */
};

struct fold_plan {
    const char *path;
    struct bloomfile_info info;
    uint64_t keys, more; /* in it; expected to come */
    struct bloomfile_fold_choice *choices;
    size_t count;
    size_t chosen;      /* count: none */
    double target;      /* the rate to keep ... */
    const char *wanted; /* ... which is "target" or "requested" */
    bool all;
};

/* Verifies the filter, computes what each factor makes of it and chooses one. Ends the program if
 * that cannot be done. */
void fold_plan_make(struct fold_plan *p, const struct fold_wish *wish, const char *path,
                    const bloomfile_filter *f);

/* Ends the program if no factor will do. Unless `quiet`, tells if only a copy will, and why. */
void fold_plan_check(const struct fold_plan *p, const struct fold_wish *wish, bool quiet);

/* Whether the filter stays as it is, and nobody has asked for that. */
bool fold_plan_is_copy(const struct fold_plan *p, const struct fold_wish *wish);

/* How many of the first choices are shown; the chosen one always is. */
size_t fold_shown(const struct fold_plan *p);

/* "block", "bit" or "counter": what is folded into one another, and how many there are. */
const char *fold_unit(const struct fold_plan *p);
uint64_t fold_units(const struct fold_plan *p);

/* One line a factor. */
void fold_table(FILE *out, const struct fold_plan *p);

/* The curve of rate against size as an SVG file in memory from malloc(). NULL for lack of memory.
 */
char *fold_curve(const struct fold_plan *p, size_t *size);

#endif
