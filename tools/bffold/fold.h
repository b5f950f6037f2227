/* SPDX-License-Identifier: MIT
 * The plan of a fold: factors, sizes and rates, and how bffold prints them. */
#ifndef BLOOMFILE_TOOLS_FOLD_H
#define BLOOMFILE_TOOLS_FOLD_H

#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>

#include <stdio.h>

#define FOLD_AS_MANY UINT64_MAX

struct fold_wish {
    double fpr;         /* 0: the filter's target rate */
    uint64_t factor;    /* 0: the largest that keeps the rate, or ... */
    uint64_t max_bytes; /* ... the smallest that gives this size; 0: no limit */
    uint64_t more;      /* more keys; FOLD_AS_MANY: as many as in the filter */
    bool all;           /* also print factors with a useless rate */
};

struct fold_plan {
    const char *path;
    struct bloomfile_info info;
    uint64_t keys, more; /* in the filter; expected later */
    struct bloomfile_fold_choice *choices;
    size_t count;
    size_t chosen;      /* index; count: no factor */
    double target;      /* the rate to keep ... */
    const char *wanted; /* ... which is "target" or "requested" */
    bool all;
};

/* Verifies the filter, computes the result of each factor and chooses a factor. Ends the
 * program on an error. */
void fold_plan_make(struct fold_plan *p, const struct fold_wish *wish, const char *path,
                    const bloomfile_filter *f);

/* Ends the program if no factor fits. If only a copy fits, prints the reason, unless `quiet`. */
void fold_plan_check(const struct fold_plan *p, const struct fold_wish *wish, bool quiet);

/* Whether the result is a copy although factor 1 was not requested. */
bool fold_plan_is_copy(const struct fold_plan *p, const struct fold_wish *wish);

/* The number of choices to print, from the first. The chosen factor is always printed too. */
size_t fold_shown(const struct fold_plan *p);

/* The unit that is folded, "block", "bit" or "counter", and the number of units. */
const char *fold_unit(const struct fold_plan *p);
uint64_t fold_units(const struct fold_plan *p);

/* Prints a line for each factor. */
void fold_table(FILE *out, const struct fold_plan *p);

/* Returns the curve of rate against size as an SVG file, in memory from malloc(). Returns NULL if
 * memory runs out. */
char *fold_curve(const struct fold_plan *p, size_t *size);

#endif
