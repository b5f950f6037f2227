/* SPDX-License-Identifier: MIT
 *
 * The set of lines seen so far: a filter in memory or in a file. An error ends the program by
 * cli_fail, which closes it properly.
 */
#ifndef TOOLS_BFUNIQ_SEEN_H
#define TOOLS_BFUNIQ_SEEN_H

#include <bloomfile.h>
#include <bloomfile_open.h>
#include <stdbool.h>

#include "filters/overfull.h"

/* ---- The filter: made, or opened and compared with what the command line asks for. */

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

/* ---- The set. */

#define SEEN_BATCH 1024

struct seen {
    struct filter_plan plan;
    const char *path; /* NULL: memory */
    bool quiet;       /* no warnings */

    bloomfile_filter *f;
    bool fixed;                     /* one filter, which can be overfull */
    bool forgets;                   /* what was seen may be new again at once */
    size_t layers;                  /* of one in memory, as last watched */
    int error;                      /* why no more could be added */
    bool finished;                  /* `f` was, and the failure has been reported */
    struct early_generations early; /* of one that forgets by time */
    struct overfull overfull;       /* of a fixed one */
    uint64_t warn_above;            /* keys */
};

/* Opens or makes what the plan says. There is one at a time; exit() closes it. */
void seen_open(struct seen *s);

/* The seed of the digests below. */
uint64_t seen_seed(const struct seen *s);

/* Sets new_ones[i] to false where a key has certainly been seen for good, otherwise to true: what
 * seen_add() is to find out. Others may add meanwhile. */
void seen_ask(const struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones);

/* Adds the first of the keys, of at most SEEN_BATCH, and returns how many: at least 1, unless
 * something is wrong, for which seen_watch() then ends the program. new_ones[i], unless it is false
 * already, tells whether the key was not seen before. The others are not marked as seen. */
size_t seen_add(struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones);

/* Call before the first key and when what seen_add() has answered is printed, with the number of
 * keys so far. Ends the program once keys cannot be added, as when the disk is full, or more than
 * twice as many new ones are mistaken for seen as was promised. */
void seen_watch(struct seen *s, uint64_t taken);

/* Ends adding for good: all is on disk, where the next run finds it, when this returns. */
void seen_finish(struct seen *s);

void seen_close(void);

/* ---- The number of new lines that the filter took for repeated ones: an estimate from its
 * rate while they came. */

struct lost {
    double rate;          /* when it was last computed */
    uint64_t found, next; /* new lines since then, and how many make it worth computing again */
    double lines;         /* the estimate, up to then */
};

/* Begins with the filter before the first line. */
void lost_begin(struct lost *l, const bloomfile_filter *f);

/* Call after each batch, with the number of lines in it that the filter has found to be new. */
void lost_watch(struct lost *l, const bloomfile_filter *f, uint64_t found);

/* The estimate, once there are no more lines. */
double lost_lines(struct lost *l, const bloomfile_filter *f);

#endif
