/* SPDX-License-Identifier: MIT
 *
 * One filter of bfuniq: made, or opened and compared with what the command line asks for.
 */
#ifndef BLOOMFILE_TOOLS_UNIQ_FILTER_H
#define BLOOMFILE_TOOLS_UNIQ_FILTER_H

#include <bloomfile.h>

struct filter_plan {
    struct bloomfile_params params; /* fpr: of one filter; 0 in a member: whatever there is */
    bool has_seed;                  /* params.seed is asked for too */
    unsigned generations;           /* filters that are asked together; 0: there is but one */
    unsigned open_flags;            /* for bloomfile_open(), as the command line says */
};

/* Makes a filter by the plan, with defaults for what it leaves open; path NULL: in memory. NULL if
 * the file exists; other trouble ends the program by cli_fail. */
bloomfile *filter_create(const struct filter_plan *plan, const char *path);

/* Opens a file, for adding or only for asking. NULL if there is none; other trouble, as a
 * contradiction to the plan, ends the program by cli_fail. */
bloomfile *filter_open(const struct filter_plan *plan, const char *path, bool adding);

/* Opens a file for adding, made by the plan if there is none. */
bloomfile *filter_open_or_create(const struct filter_plan *plan, const char *path);

/* Whether a file is a generation of any plan, as its label says. */
bool filter_is_generation(const char *path, char label[BLOOMFILE_MAX_LABEL + 1]);

/* Whether a file is one of the filters of this plan, old as it may be. */
bool filter_is_ours(const struct filter_plan *plan, const char *path);

/* From now on the plan is: filters just like this one. */
void filter_follow(struct filter_plan *plan, const bloomfile *f);

#endif
