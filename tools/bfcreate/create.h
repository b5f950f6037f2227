/* SPDX-License-Identifier: MIT
 * The request of bfcreate, and the two kinds of filter that it creates. */
#ifndef BLOOMFILE_TOOLS_CREATE_H
#define BLOOMFILE_TOOLS_CREATE_H

#include "cli/names.h"
#include "filters/report.h"
#include "keys/keys.h"

#include <bloomfile.h>
#include <bloomfile_inspect.h>

#define CREATE_DEFAULT_FPR      0.01
#define CREATE_LEAST_MEMORY     (16u << 20)
#define CREATE_FIRST_LAYER      1000000 /* keys */
#define CREATE_MOST_GENERATIONS 1000
#define CREATE_MOST_SLICES      65536
#define CREATE_BLOCK_BITS       512u /* of the layout blocked, which can have slices */

struct create {
    const char *path; /* "-": standard output */
    struct names inputs;
    struct bloomfile_params params;
    struct keys_options keys;
    uint64_t cells;    /* from -m, unchanged */
    uint64_t memory;   /* bytes; 0: the default */
    uint64_t min_keys; /* fewer distinct keys are an error */
    uint32_t threads;  /* 0: the default */
    const char *every; /* N or TIME of a series that forgets; may be NULL */
    bool dry_run, embedded, live, grow, force, allow_empty, overfull, quiet, verbose;
    bool summary; /* for people, on stderr */
    struct report report;
    bloomfile_builder *builder; /* of a sealed filter */
};

/* Checks the options for a series, and stores them in the params. Ends the program through
 * cli_usage() on a mistake. */
void create_check_series(struct create *c);

/* Create and describe the filter, or end the program through cli_fail(). */
void create_sealed(struct create *c);
void create_live(struct create *c);

/* The number of cells from -m, rounded up to whole units of the layout. */
uint64_t create_whole_units(const struct create *c, uint32_t layout);

/* Prints the size and rate of the filter; with `all`, of each layout. Creates nothing. Ends the
 * program on the same errors as create_sealed() and create_live(). */
void create_dry_run(const struct create *c, bool all);

_Noreturn void create_fail_for_slices(const struct create *c); /* more slices than pages */

/* create_describe() describes a filter of `keys` keys; 0: of as many as its capacity.
 * create_inspect_its_like() describes a filter of the keys in a builder. Both return
 * 0 or an error. */
int create_describe(const struct create *c, uint64_t keys, struct bloomfile_info *info);
int create_inspect_its_like(const struct create *c, bloomfile_builder *builder,
                            struct bloomfile_info *info);

/* Creates a builder, or ends the program. */
bloomfile_builder *create_builder(const struct create *c, const struct bloomfile_params *params);

/* Ends the program with the error that the filter would be over capacity at its planned
 * number of keys. */
_Noreturn void create_refuse_size(const struct create *c, const struct bloomfile_info *info);

/* Ends the program after BLOOMFILE_EFULL: the keys in the builder are too many. */
_Noreturn void create_refuse_over_capacity(const struct create *c, bloomfile_builder *builder);

/* Ends the program if no target rate was given, but nearly every lookup would return "maybe". */
void create_check_useless(const struct create *c, bloomfile_builder *builder);

/* create_cut_slice() changes the description of a whole filter to that of its slice.
 * create_report_slice() prints it; `read` also counts keys of other slices. */
void create_cut_slice(const struct create *c, struct bloomfile_info *info);
void create_report_slice(const struct create *c, const struct bloomfile_info *info, uint64_t read);

/* Writes the report. `read` is the number of keys in the input. */
void create_put_report(struct create *c, const struct bloomfile_info *info, uint64_t read);

/* Ends the program with the reason why the filter could not be created, such as its
 * requested size. */
_Noreturn void create_fail(const struct create *c, int error);

#endif
