/* SPDX-License-Identifier: MIT
 *
 * The filter of bfuniq: made, or opened and compared with what the command line asks for.
 */
#ifndef TOOLS_BFUNIQ_FILTER_H
#define TOOLS_BFUNIQ_FILTER_H

#include <bloomfile.h>
#include <stdbool.h>

struct filter_plan {
    struct bloomfile_params
        params;          /* 0 in a member: whatever there is; a period goes with series */
    bool has_seed;       /* params.seed is asked for too */
    bool has_kind;       /* so is params.series, be it 0 */
    unsigned open_flags; /* for bloomfile_open(), as the command line says */
};

/* Makes a filter by the plan in memory, with defaults for what it leaves open. Trouble ends the
 * program by cli_fail, here and below. */
bloomfile_filter *filter_in_memory(const struct filter_plan *plan);

/* Opens a file for adding, made by the plan if there is none. One that contradicts the plan is
 * trouble. */
bloomfile_filter *filter_open_or_create(const struct filter_plan *plan, const char *path);

/* Ends the program if a filter in memory has become larger than the machine, after so many lines.
 */
void filter_check_memory(const bloomfile_filter *f, uint64_t lines);

/* Ends the program: "cannot use FILE: it is sealed (what to do)". path NULL: of one in memory;
 * remedy NULL: the usual one. */
_Noreturn void filter_fail(const char *what, const char *path,
                           const struct bloomfile_open_report *report, const char *remedy);

/* ---- Generations that ended early: they were full before their time was over, so lines are
 * forgotten too soon. */

struct early_generations {
    bool watching;
    uint64_t newest; /* generation that was looked at */
};

/* Watches a filter of which generations have a time; no other. */
void early_generations_begin(struct early_generations *e, const bloomfile_filter *f);

/* Warns once, after keys have been added. */
void early_generations_watch(struct early_generations *e, const bloomfile_filter *f,
                             const char *name);

#endif
