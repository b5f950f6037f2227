/* SPDX-License-Identifier: MIT
 * The plan of a fold: all factors, their rates, and the choice of the best. */
#include "bffold/fold.h"
#include "cli/cli.h"
#include "filters/messages.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* No number up to 2^60 has more divisors; 897612484786617600 has this many. */
#define MOST_FACTORS 103680

enum {
    REASON_SIZE = 256
};

static bool keeps(const struct fold_wish *wish, const struct fold_plan *p,
                  const struct bloomfile_fold_choice *c)
{
    if (wish->factor > 0)
        return c->factor == wish->factor;
    if (wish->max_bytes > 0)
        return c->image_size <= wish->max_bytes && (c->fpr <= MESSAGE_USELESS || c->factor == 1);
    return c->fpr <= p->target;
}

/* Chooses the first factor that gives the size, or the last that keeps the rate. If no factor keeps
 * the filter's own target rate, chooses factor 1. Returns p->count if no factor fits. */
static size_t choose(const struct fold_wish *wish, const struct fold_plan *p)
{
    size_t chosen = p->count;
    for (size_t i = 0; i < p->count && (chosen == p->count || wish->max_bytes == 0); i++)
        chosen = keeps(wish, p, &p->choices[i]) ? i : chosen;
    bool is_any = wish->factor == 0 && wish->max_bytes == 0 && wish->fpr <= 0;
    return chosen == p->count && is_any ? 0 : chosen;
}

/* Estimates the number for a live filter in use: some of its keys are not recorded yet. */
static uint64_t count_keys(const bloomfile_filter *f, const struct bloomfile_info *info)
{
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    if (info->keys_estimated == 0 && info->writers == 0)
        return info->keys;
    bloomfile_measure(f, &measure); /* an error stays the filter's status */
    return message_estimate(info, &measure);
}

void fold_plan_make(struct fold_plan *p, const struct fold_wish *wish, const char *path,
                    const bloomfile_filter *f)
{
    *p = (struct fold_plan){ .path = path, .info = BLOOMFILE_INFO_INIT, .all = wish->all };
    bloomfile_get_info(f, &p->info);
    p->keys = count_keys(f, &p->info);
    p->more = wish->more != FOLD_AS_MANY ? wish->more : p->keys;
    p->target = wish->fpr > 0 ? wish->fpr : message_promised(&p->info);
    p->wanted = wish->fpr > 0 ? "requested" : "target";
    p->count = MOST_FACTORS;
    p->choices = calloc(p->count, sizeof(*p->choices));
    int error =
        p->choices == NULL ? ENOMEM : bloomfile_fold_plan(f, p->more, p->choices, &p->count);
    if (error != 0)
        message_fail(error, "cannot fold", p->path);
    p->chosen = choose(wish, p);
}

/* --------------------------------------------------------------------- why it cannot be folded */

/* The rate in percent, with at least three digits, and enough to differ from the other rate. */
static char *rate_text(char *text, size_t size, double rate, double other)
{
    char same[64];
    for (int digits = 3; digits <= 17; digits++) {
        snprintf(text, size, "%.*g%%", digits, 100 * rate);
        snprintf(same, sizeof(same), "%.*g%%", digits, 100 * other);
        if (strcmp(text, same) != 0)
            break;
    }
    return text;
}

/* Explains why the filter is not folded, or not folded more. */
static char *reason(const struct fold_plan *p, const struct fold_wish *wish, char *text,
                    size_t size)
{
    char rate[64], target[64], bytes[32];
    cli_percent(target, sizeof(target), p->target);
    if (wish->max_bytes > 0)
        snprintf(text, size, "it is small enough: %" PRIu64 " bytes (%s)", p->choices[0].image_size,
                 cli_bytes(bytes, sizeof(bytes), p->choices[0].image_size));
    else if (p->choices[0].fpr > p->target)
        snprintf(text, size, "its false-positive rate is already %s, more than the %s rate of %s",
                 rate_text(rate, sizeof(rate), p->choices[0].fpr, p->target), p->wanted, target);
    else if (p->count == 1)
        snprintf(text, size, "no factor divides it");
    else
        snprintf(text, size,
                 "factor %" PRIu64
                 " would give a false-positive rate of %s, more than the %s rate of %s",
                 p->choices[1].factor, rate_text(rate, sizeof(rate), p->choices[1].fpr, p->target),
                 p->wanted, target);
    return text;
}

static _Noreturn void fail(const struct fold_plan *p, const struct fold_wish *wish)
{
    char text[REASON_SIZE], size[32];
    const struct bloomfile_fold_choice *least = &p->choices[p->count - 1], *fits = p->choices;
    if (wish->factor > 0)
        cli_fail(0,
                 "cannot fold %s: %" PRIu64 " does not divide its %" PRIu64
                 " %s%s (list the factors with --dry-run)",
                 p->path, wish->factor, fold_units(p), fold_unit(p), cli_s(fold_units(p)));
    if (wish->max_bytes > 0 && wish->max_bytes < least->image_size)
        cli_fail(0, "cannot fold %s: it cannot be smaller than %" PRIu64 " bytes (%s)", p->path,
                 least->image_size, cli_bytes(size, sizeof(size), least->image_size));
    while (wish->max_bytes > 0 && fits->image_size > wish->max_bytes)
        fits++;
    if (wish->max_bytes > 0)
        cli_fail(0,
                 "cannot fold %s: at that size its false-positive rate would be %s (to fold it "
                 "anyway: --factor %" PRIu64 ")",
                 p->path, cli_percent(text, sizeof(text), fits->fpr), fits->factor);
    cli_fail(0, "cannot fold %s: %s", p->path, reason(p, wish, text, sizeof(text)));
}

bool fold_plan_is_copy(const struct fold_plan *p, const struct fold_wish *wish)
{
    return p->chosen == 0 && wish->factor == 0;
}

void fold_plan_check(const struct fold_plan *p, const struct fold_wish *wish, bool quiet)
{
    char text[REASON_SIZE];
    if (p->chosen == p->count)
        fail(p, wish);
    if (fold_plan_is_copy(p, wish) && !quiet)
        cli_warn("%s: copied, not folded: %s", p->path, reason(p, wish, text, sizeof(text)));
}
