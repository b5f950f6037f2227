/* SPDX-License-Identifier: MIT
 * The set of lines seen so far: lookups, adds, and errors when the filter is too full. */
#include "bfuniq/seen.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "filters/messages.h"
#include "filters/opening.h"

enum {
    DESCRIPTION_SIZE = 5000 /* of an error */
};

static struct seen *in_use;

static const char *name_of(const struct seen *s)
{
    return s->path != NULL ? s->path : "the filter in memory";
}

/* The remedy if a file could not be written: a poisoned file can never be used again. */
static const char *remedy(const struct seen *s)
{
    return bloomfile_check(s->f) == BLOOMFILE_EPOISONED
               ? " (name a new file; lines seen before are then printed again)"
               : "";
}

/* -------------------------------------------------------------------------- opening and closing */

void seen_open(struct seen *s)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    in_use = s;
    if (atexit(seen_close) != 0)
        cli_fail(ENOMEM, "cannot start");
    if (s->path == NULL) {
        s->f = filter_in_memory(&s->plan);
    } else {
        cli_catch_bus_error_of_writer(s->path);
        s->f = filter_open_or_create(&s->plan, s->path);
        s->unclean = opening_accepted_unclean(s->path, s->plan.open_flags);
    }
    bloomfile_get_info(s->f, &info);
    s->fixed = info.layers == 0;
    s->forgets = info.generations > 0;
    early_generations_begin(&s->early, s->f);
    if (!s->fixed)
        return;
    overfull_begin(&s->overfull, s->f);
    s->warn_above = s->overfull.capacity;
}

/* Writes the filter to disk. seen_finish() reports a file that was removed or replaced. */
static void write_out(struct seen *s)
{
    int error = bloomfile_sync(s->f, NULL);
    if (error == 0 || error == BLOOMFILE_EREPLACED) {
        s->finished = true;
        error = bloomfile_finish(s->f);
    }
    if (error != 0 && error != BLOOMFILE_EREPLACED)
        cli_fail(0, "cannot write %s to disk: %s%s", name_of(s), bloomfile_strerror(error),
                 remedy(s));
}

static void leave_unclean(struct seen *s, const char *why)
{
    s->finished = true;
    cli_note(0, "%s remains unclean, because %s (the next run needs --accept-unclean)", s->path,
             why);
}

bool seen_finish(struct seen *s, uint64_t taken, bool whole)
{
    const bool remains = s->unclean = s->unclean && (!whole || taken == 0);
    if (remains)
        leave_unclean(s, whole ? "no line was read" : "not all of the input was read");
    else
        write_out(s);
    if (s->path != NULL && bloomfile_is_stale(s->f) != 0)
        cli_fail(0,
                 "%s was removed or replaced during the run, and its lines are lost: the next run "
                 "prints them again",
                 s->path);
    return !remains;
}

void seen_close(void)
{
    struct seen *s = in_use;
    in_use = NULL;
    if (s == NULL || s->f == NULL)
        return;
    bool told = bloomfile_check(s->f) != 0;
    if (s->unclean && !s->finished)
        leave_unclean(s, "not all of the input was read");
    int error = s->finished ? 0 : bloomfile_finish(s->f);
    if (error != 0 && !told)
        cli_note(0, "cannot write %s to disk: %s%s", name_of(s), bloomfile_strerror(error),
                 remedy(s));
    bloomfile_close(s->f);
}

/* -------------------------------------------------------------------------------------- filling */

static void warn_of_overflow(struct seen *s)
{
    const struct overfull *c = &s->overfull;
    char is[32], promised[32];
    if (c->keys <= s->warn_above)
        return;
    s->warn_above = c->keys < UINT64_MAX / 2 ? 2 * c->keys : UINT64_MAX;
    if (s->quiet)
        return;
    cli_warn("%s: %s%" PRIu64 " keys, more than its capacity of %" PRIu64
             ": the false-positive rate is now %s (target %s)",
             name_of(s), c->fill.estimated ? "about " : "", c->keys, c->capacity,
             cli_percent(is, sizeof(is), c->rate),
             cli_percent(promised, sizeof(promised), c->promised));
}

/* Stops while the lines that were not read yet can still be saved. */
static _Noreturn void stop_overfull(const struct seen *s, uint64_t taken)
{
    char text[DESCRIPTION_SIZE];
    cli_fail(0,
             "cannot add to %s, stopped after %" PRIu64
             " line%s: %s (start over with%s a larger -n, or without --fixed)",
             name_of(s), taken, cli_s(taken), overfull_describe(s->f, text, sizeof(text)),
             s->path != NULL ? " another file and" : "");
}

/* The remedy if another layer could not be created; NULL for other errors. */
static const char *way_on(int error)
{
    switch (error) {
    case ENOSPC:
        return " (free some disk space; to continue, run it again and append its output with >>)";
    case ENOMEM:
        return " (keep it in a file: --filter FILE)";
    case EACCES:
    case EROFS:
        return " (its next layer is a file in the same folder)";
    default:
        return NULL;
    }
}

/* All lines that were added are already printed. */
static _Noreturn void stop_unadded(const struct seen *s, uint64_t taken)
{
    char what[DESCRIPTION_SIZE];
    snprintf(what, sizeof(what), "cannot add to %s, stopped after %" PRIu64 " line%s", name_of(s),
             taken, cli_s(taken));
    struct bloomfile_open_report report = BLOOMFILE_OPEN_REPORT_INIT;
    (void)bloomfile_layer_report(s->f, &report);
    if (report.error != s->error)
        report = (struct bloomfile_open_report){ .struct_size = sizeof(report), .error = s->error };
    filter_fail(what, s->path, &report, way_on(s->error));
}

static void watch_memory(struct seen *s, uint64_t taken)
{
    const size_t layers = s->path == NULL ? bloomfile_layers(s->f) : 0;
    if (layers != s->layers)
        filter_check_memory(s->f, taken);
    s->layers = layers;
}

static void watch_series(struct seen *s, uint64_t taken)
{
    watch_memory(s, taken);
    if (!s->quiet)
        early_generations_watch(&s->early, s->f, name_of(s));
}

void seen_watch(struct seen *s, uint64_t taken)
{
    if (s->error == BLOOMFILE_EFULL)
        stop_overfull(s, taken);
    if (s->error != 0)
        stop_unadded(s, taken);
    if (!s->fixed) {
        watch_series(s, taken);
        return;
    }
    if (!overfull_look(&s->overfull, s->f, false))
        return;
    warn_of_overflow(s);
    s->overfull.next = s->warn_above;
}

/* --------------------------------------------------------------------------------------- adding */

uint64_t seen_seed(const struct seen *s)
{
    return bloomfile_seed(s->f);
}

/* If the filter forgets, the answer may change before seen_add(), so every key is left to it. */
void seen_ask(const struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones)
{
    if (s->forgets) {
        memset(new_ones, true, n);
        return;
    }
    (void)bloomfile_contains_digests(s->f, digests, n, new_ones);
    for (size_t i = 0; i < n; i++)
        new_ones[i] = !new_ones[i];
}

/* A filter in doubt returns "maybe" for every key, so check for an error. */
static int doubt(const struct seen *s, const bool *new_ones, size_t n)
{
    return memchr(new_ones, false, n) != NULL ? bloomfile_check(s->f) : 0;
}

/* The number of keys up to the last key known to have been added. Later keys are uncertain. */
static size_t answered(const bool *new_ones, size_t n)
{
    while (n > 0 && !new_ones[n - 1])
        n--;
    return n;
}

size_t seen_add(struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones)
{
    bloomfile_digest asked[SEEN_BATCH];
    size_t place[SEEN_BATCH], count = 0;
    bool was_new[SEEN_BATCH] = { false };
    for (size_t i = 0; i < n; i++) {
        asked[count] = digests[i];
        place[count] = i;
        count += new_ones[i];
    }
    size_t done;
    s->error = bloomfile_add_digests(s->f, asked, count, was_new, NULL, &done);
    for (size_t i = 0; i < done; i++)
        new_ones[place[i]] = was_new[i];
    if (s->error != 0)
        return done < count ? place[done] : n;
    s->error = doubt(s, new_ones, n);
    return s->error == 0 ? n : answered(new_ones, n);
}

/* ---- The estimated number of lost lines. A new line is lost with probability `rate`, so each new
 * line that was found stands for rate / (1 - rate) lost lines. */

enum {
    LEAST_STEP = 1024, /* lines */
    STEPS = 64         /* per doubling of the lines: the rate changes little in a step */
};

/* The expected rate of a layer. `more` keys are not in its count, because their bits
 * were already set. */
static double rate_of(const bloomfile_filter *layer, double more)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(layer, &info);
    return message_expected(&info, info.keys + (uint64_t)more);
}

/* The expected rate, from the number of keys. The rate of a series is the rate at which any
 * layer matches. */
static double rate_now(const bloomfile_filter *f, double lost)
{
    const size_t layers = bloomfile_layers(f);
    double none = layers == 0 ? 1 - rate_of(f, lost) : 1;
    for (size_t i = 0; i < layers; i++)
        none *= 1 - rate_of(bloomfile_layer(f, i), 0);
    return 1 - none;
}

void lost_begin(struct lost *l, const bloomfile_filter *f)
{
    *l = (struct lost){ .rate = rate_now(f, 0), .next = LEAST_STEP };
}

static void add_up(struct lost *l, const bloomfile_filter *f)
{
    const double now = rate_now(f, l->lines), rate = (l->rate + now) / 2;
    l->lines += rate < 1 ? (double)l->found * rate / (1 - rate) : 0;
    l->rate = now;
    l->found = 0;
}

void lost_watch(struct lost *l, const bloomfile_filter *f, uint64_t found)
{
    l->found += found;
    if (l->found < l->next)
        return;
    add_up(l, f);
    l->next += l->next / STEPS;
}

double lost_lines(struct lost *l, const bloomfile_filter *f)
{
    add_up(l, f);
    return l->lines;
}
