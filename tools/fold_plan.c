/* SPDX-License-Identifier: MIT */
#include "cli.h"
#include "fold.h"
#include "say.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* No number up to 2^60 has more divisors. */
#define MOST_FACTORS 103680

static bool keeps(const struct fold_wish *wish, const struct fold_plan *p,
                  const struct bloomfile_fold_choice *c)
{
    if (wish->factor > 0)
        return c->factor == wish->factor;
    if (wish->max_bytes > 0)
        return c->image_size <= wish->max_bytes;
    return c->fpr <= p->target;
}

/* The first that will do for a size, the last for a rate; p->count: none, or only the filter as it
 * is, which nobody has asked for. */
static size_t choose(const struct fold_wish *wish, const struct fold_plan *p)
{
    size_t chosen = p->count;
    for (size_t i = 0; i < p->count && (chosen == p->count || wish->max_bytes == 0); i++)
        chosen = keeps(wish, p, &p->choices[i]) ? i : chosen;
    return chosen == 0 && wish->factor == 0 ? p->count : chosen;
}

/* A live filter that is in use has keys that are not recorded yet. */
static uint64_t count_keys(const bloomfile *f, const struct bloomfile_info *info)
{
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    if (info->keys_estimated == 0 && info->writers == 0)
        return info->keys;
    bloomfile_measure(f, &measure); /* fails for a wrong struct_size only */
    return say_estimate(info, &measure);
}

void fold_plan_make(struct fold_plan *p, const struct fold_wish *wish, const char *path,
                    const bloomfile *f)
{
    *p = (struct fold_plan){ .path = path, .info = BLOOMFILE_INFO_INIT, .all = wish->all };
    bloomfile_get_info(f, &p->info);
    p->keys = count_keys(f, &p->info);
    p->more = wish->more != FOLD_AS_MANY ? wish->more : p->keys;
    p->target = wish->fpr > 0 ? wish->fpr : say_promised(&p->info);
    p->wanted = wish->fpr > 0 ? "asked for" : "promised";
    p->count = MOST_FACTORS;
    p->choices = calloc(p->count, sizeof(*p->choices));
    int error =
        p->choices == NULL ? ENOMEM : bloomfile_fold_plan(f, p->more, p->choices, &p->count);
    if (error != 0)
        cli_fail(error, "cannot fold %s", p->path);
    p->chosen = choose(wish, p);
}

/* --------------------------------------------------------------------- why it cannot be folded */

/* In percent: as few digits as tell it from the other one, at least three. */
static char *rate_text(char *text, size_t size, double rate, double other)
{
    char same[64];
    for (int digits = 3; digits <= 17; digits++) {
        snprintf(text, size, "%.*g %%", digits, 100 * rate);
        snprintf(same, sizeof(same), "%.*g %%", digits, 100 * other);
        if (strcmp(text, same) != 0)
            break;
    }
    return text;
}

static _Noreturn void fail_for_rate(const struct fold_plan *p)
{
    char rate[64], target[64];
    cli_percent(target, sizeof(target), p->target);
    if (p->choices[0].fpr > p->target)
        cli_fail(0, "cannot fold %s: its false-positive rate is %s as it is, more than the %s %s",
                 p->path, rate_text(rate, sizeof(rate), p->choices[0].fpr, p->target), target,
                 p->wanted);
    if (p->count == 1)
        cli_fail(0, "cannot fold %s: it is as small as can be", p->path);
    cli_fail(0,
             "cannot fold %s: factor %" PRIu64 " would give a false-positive rate of %s, more than"
             " the %s %s",
             p->path, p->choices[1].factor,
             rate_text(rate, sizeof(rate), p->choices[1].fpr, p->target), target, p->wanted);
}

static _Noreturn void fail_for_size(const struct fold_plan *p, uint64_t max_bytes)
{
    char size[32];
    uint64_t most = p->choices[0].image_size, least = p->choices[p->count - 1].image_size;
    if (most <= max_bytes)
        cli_fail(0, "cannot fold %s: it is small enough as it is: %" PRIu64 " bytes (%s)", p->path,
                 most, cli_bytes(size, sizeof(size), most));
    cli_fail(0, "cannot fold %s: it cannot be smaller than %" PRIu64 " bytes (%s)", p->path, least,
             cli_bytes(size, sizeof(size), least));
}

void fold_plan_check(const struct fold_plan *p, const struct fold_wish *wish)
{
    if (p->chosen < p->count)
        return;
    if (wish->factor > 0)
        cli_fail(0,
                 "cannot fold %s: %" PRIu64 " does not divide its %" PRIu64
                 " %s (--dry-run lists what does)",
                 p->path, wish->factor, fold_units(p), fold_unit(p));
    if (wish->max_bytes > 0)
        fail_for_size(p, wish->max_bytes);
    fail_for_rate(p);
}
