/* SPDX-License-Identifier: MIT
 * The set of lines seen so far: a filter in memory or in a file. An error ends the program through
 * cli_fail(), which closes the filter properly. */
#ifndef TOOLS_BFUNIQ_SEEN_H
#define TOOLS_BFUNIQ_SEEN_H

#include <bloomfile.h>
#include <bloomfile_open.h>
#include <stdbool.h>

#include "filters/overfull.h"

/* ---- The filter: created, or opened and compared with the command line. */

struct filter_plan {
    struct bloomfile_params
        params;          /* a member that is 0 accepts any value; period applies with series */
    bool has_seed;       /* params.seed was requested too */
    bool has_kind;       /* params.series was requested, even if it is 0 */
    unsigned open_flags; /* from the command line, for bloomfile_open() */
};

/* Creates a filter in memory from the plan, with defaults for the rest. This and the functions
 * below end the program through cli_fail() on an error. */
bloomfile_filter *filter_in_memory(const struct filter_plan *plan);

/* Opens a file for adding, and creates it from the plan if it does not exist. A file that
 * contradicts the plan is an error. */
bloomfile_filter *filter_open_or_create(const struct filter_plan *plan, const char *path);

/* Ends the program if a filter in memory exceeds the machine's memory. `lines` were read so far. */
void filter_check_memory(const bloomfile_filter *f, uint64_t lines);

/* Ends the program with a message such as "cannot use FILE: it is sealed (remedy)", where `what` is
 * "cannot use FILE". path NULL: the filter is in memory. remedy NULL: the usual remedy. */
_Noreturn void filter_fail(const char *what, const char *path,
                           const struct bloomfile_open_report *report, const char *remedy);

/* ---- Generations that ended early: they were full before their time was over, so lines are
 * forgotten too soon. */

struct early_generations {
    bool watching;
    uint64_t newest; /* newest generation that was checked */
};

/* Watches the filter if its generations have a time. */
void early_generations_begin(struct early_generations *e, const bloomfile_filter *f);

/* Call this after keys were added. Warns once. */
void early_generations_watch(struct early_generations *e, const bloomfile_filter *f,
                             const char *name);

/* ---- The set. */

#define SEEN_BATCH 1024

struct seen {
    struct filter_plan plan;
    const char *path; /* NULL: memory */
    bool quiet;       /* no warnings */

    bloomfile_filter *f;
    bool fixed;                     /* a single filter, which can be over capacity */
    bool forgets;                   /* a seen line may be new again at any time */
    size_t layers;                  /* of a filter in memory, as last checked */
    int error;                      /* why the last add failed, or 0 */
    bool unclean;                   /* the file was unclean, and stays so until seen_finish() */
    bool finished;                  /* bloomfile_finish() was called, and its error reported */
    struct early_generations early; /* if generations have a time */
    struct overfull overfull;       /* if fixed */
    uint64_t warn_above;            /* number of keys */
};

/* Opens or creates the filter. Only one set may be open at a time. exit() closes it. */
void seen_open(struct seen *s);

/* The seed of the digests below. */
uint64_t seen_seed(const struct seen *s);

/* Sets new_ones[i] to false if the filter already has the key and cannot forget it, otherwise to
 * true: seen_add() then decides. Other threads may add concurrently. */
void seen_ask(const struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones);

/* Adds keys in order, at most SEEN_BATCH, and returns how many it processed. That is at least 1,
 * unless there is an error, for which seen_watch() then ends the program. Sets new_ones[i], unless
 * it is already false, to whether the key is new. The remaining keys are not marked as seen. */
size_t seen_add(struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones);

/* Call this before the first key, and after the results of each seen_add() are printed. `taken` is
 * the number of keys so far. Ends the program if keys cannot be added: because of an error such as
 * a full disk, or because the expected rate would rise above twice the target. */
void seen_watch(struct seen *s, uint64_t taken);

/* Ends adding, after `taken` keys; `whole`: all of the input was read. When it returns true,
 * everything is on disk, where the next run finds it. Otherwise the file was unclean and remains
 * so, because the lost keys were perhaps not among those read; this was reported. */
bool seen_finish(struct seen *s, uint64_t taken, bool whole);

/* An unclean file remains unclean, unless seen_finish() was called. */
void seen_close(void);

/* ---- An estimate of the number of new lines that were dropped as false positives, from the rates
 * of the filter when they were looked up. */

struct lost {
    double rate;          /* when last computed */
    uint64_t found, next; /* new lines since then, and the number at which to compute again */
    double lines;         /* the estimate up to then */
};

/* Call this before the first line. */
void lost_begin(struct lost *l, const bloomfile_filter *f);

/* Call this after each batch, with the number of lines in it that the filter found to be new. */
void lost_watch(struct lost *l, const bloomfile_filter *f, uint64_t found);

/* Returns the estimate at the end. */
double lost_lines(struct lost *l, const bloomfile_filter *f);

#endif
