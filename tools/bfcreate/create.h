/* SPDX-License-Identifier: MIT
 * The request of bfcreate, and the two kinds of filter that it makes. */
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
#define CREATE_BLOCK_BITS       512u /* of the layout that has slices */

struct create {
    const char *path; /* "-": standard output */
    struct names inputs;
    struct bloomfile_params params;
    struct keys_options keys;
    uint64_t cells;    /* of -m, as given */
    uint64_t memory;   /* bytes; 0: the default */
    uint64_t min_keys; /* fewer different ones are trouble */
    uint32_t threads;  /* 0: the default */
    const char *every; /* N or TIME of a series that forgets; NULL: none */
    bool dry_run, embedded, live, grow, force, allow_empty, overfull, quiet, verbose;
    bool summary; /* for people, on stderr */
    struct report report;
};

/* Checks what is said of a series, and puts it into the params; ends the program by cli_usage(). */
void create_check_series(struct create *c);

/* Each makes it and describes it, or ends the program by cli_fail(). */
void create_sealed(struct create *c);
void create_live(struct create *c);

/* The number of cells by -m, rounded up to whole units of the layout. */
uint64_t create_whole_units(const struct create *c, uint32_t layout);

/* Prints the size and rate of the filter, and with `all` those of each layout. Creates nothing.
 * Ends the program with the errors of create_sealed() and create_live(). */
void create_dry_run(const struct create *c, bool all);

_Noreturn void create_fail_for_slices(const struct create *c); /* more than there are pages */

/* Describes the filter that is made of so many keys; 0: of as many as it is sized for. Then that of
 * the keys in a builder. 0, or the error. */
int create_describe(const struct create *c, uint64_t keys, struct bloomfile_info *info);
int create_inspect_its_like(const struct create *c, bloomfile_builder *builder,
                            struct bloomfile_info *info);

/* Creates a builder, or ends the program. */
bloomfile_builder *create_builder(const struct create *c, const struct bloomfile_params *params);

/* Ends the program with an error: the filter would be over capacity at its planned number of keys.
 * */
_Noreturn void create_refuse_size(const struct create *c, const struct bloomfile_info *info);

/* Ends the program: BLOOMFILE_EFULL. */
_Noreturn void create_refuse_over_capacity(const struct create *c, bloomfile_builder *builder);

/* The same if no rate is promised, but nearly every answer would be "maybe". */
void create_check_useless(const struct create *c, bloomfile_builder *builder);

/* Changes the description of a whole filter to that of its slice; prints it. `read` counts keys of
 * other slices too. */
void create_cut_slice(const struct create *c, struct bloomfile_info *info);
void create_report_slice(const struct create *c, const struct bloomfile_info *info, uint64_t read);

/* Writes the report. `read` is the number of keys in the input. */
void create_put_report(struct create *c, const struct bloomfile_info *info, uint64_t read);

/* Ends the program with why the filter could not be made; the size that was wanted may be the
 * reason. */
_Noreturn void create_fail(const struct create *c, int error);

#endif
