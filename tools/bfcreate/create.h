/* SPDX-License-Identifier: MIT
 * What bfcreate is asked for, and the two kinds of filter that it makes. */
#ifndef BLOOMFILE_TOOLS_CREATE_H
#define BLOOMFILE_TOOLS_CREATE_H

#include "shared/keys.h"

#include <bloomfile.h>
#include <bloomfile_inspect.h>

#define CREATE_DEFAULT_FPR      0.01
#define CREATE_LEAST_MEMORY     (16u << 20)
#define CREATE_FIRST_LAYER      1000000 /* keys */
#define CREATE_MOST_GENERATIONS 1000
#define CREATE_MOST_SLICES      65536

struct create {
    const char *path; /* "-": standard output */
    char *const *inputs;
    int inputs_count;
    struct bloomfile_params params;
    struct keys_options keys;
    uint64_t memory;   /* bytes; 0: the default */
    uint64_t min_keys; /* fewer different ones are trouble */
    uint32_t threads;  /* 0: the default */
    const char *every; /* N or TIME of a series that forgets; NULL: none */
    bool live, grow, force, allow_empty, overfull, quiet, verbose;
};

/* Checks what is said of a series, and puts it into the params; ends the program by cli_usage(). */
void create_check_series(struct create *c);

/* Each makes it and tells about it, or ends the program by cli_fail(). */
int create_sealed(const struct create *c); /* returns the exit status */
void create_live(const struct create *c);

/* Of a slice: makes what tells of the whole tell of it; and tells of it, returning the exit status.
 * `read` counts keys of other slices too. */
_Noreturn void create_fail_for_slices(const struct create *c); /* more than there are pages */
void create_cut_slice(const struct create *c, struct bloomfile_info *info);
int create_report_slice(const struct create *c, const struct bloomfile_info *info, uint64_t read);

/* Ends the program with why the filter could not be made; the size that was wanted may be the
 * reason. */
_Noreturn void create_fail(const struct create *c, int error);

/* Whether to print a summary for people. */
bool create_is_summed_up(const struct create *c);

#endif
