/* SPDX-License-Identifier: MIT
 * The verdict on keys and rates: missing keys, and whether chance explains an actual rate above the
 * target. */
#include "bfinspect/verdict.h"
#include "cli/cli.h"
#include "filters/messages.h"
#include "filters/overfull.h"

#include <bloomfile_unstable.h>
#include <inttypes.h>
#include <math.h>

/* The target counts as kept if the actual rate is at most this many times the target. A single
 * filter may also exceed that by this many standard deviations, unless it has more keys than
 * its capacity. */
static const double tolerance = 1.1, deviations = 4;

/* Separates two parts of the verdict. */
static void also(struct inspect_report *r)
{
    if (r->verdict[0] != '\0')
        verdict_add(r, "; ");
}

/* The relative standard deviation of the actual rate of a filter at capacity; with fewer keys,
 * fewer bits are set. A slice has a part of the capacity. */
static double chance_of_rate(const struct bloomfile_info *info)
{
    const double block = bloomfile_traits_of(info->layout)->unit_cells;
    const double whole = (double)info->whole_blocks * block;
    const double share = whole > 0 ? (double)info->bits / whole : 1;
    const double keys = fmax(1, (double)info->capacity * share);
    struct bloomfile_size size = message_size(info, (uint64_t)keys);
    size.want_spread = 1;
    return bloomfile_size_for(&size) == 0 ? size.spread : 0;
}

/* chance_of_rate() for a solved layout. The rate of a page is 2^-columns, and a page with fewer
 * keys or groups has more columns. The number of groups is random: another seed might have needed
 * more or fewer. */
static double chance_of_pages(const struct inspect_report *r)
{
    const double pages = (double)r->solution.pages, keys = fmax((double)r->info.keys, 1) / pages;
    const double slope = -log(r->measure.fpr), further = r->solution.further;
    const double of_keys = (1 - 1 / pages) / keys, groups = fmax(r->solution.groups.mean, 1);
    return slope * sqrt((of_keys + further * (1 + further) / (groups * groups)) / pages);
}

/* The deviation of a sum of rates is at most that of the rate that varies most. */
static double chance_of_all(const struct inspect_report *r)
{
    double most = 0;
    if (r->solution.pages > 0)
        return chance_of_pages(r);
    for (size_t i = 0; i < r->layer_count; i++)
        most = fmax(most, chance_of_rate(&r->layers[i].info));
    return r->layer_count > 0 ? most : chance_of_rate(&r->info);
}

/* The rates of small filters are approximately log-normal. */
static bool rate_is_kept(const struct inspect_report *r, bool is_overfull)
{
    const double spread = is_overfull ? 0 : chance_of_all(r);
    return r->measure.fpr <=
           r->info.fpr * tolerance * exp(deviations * sqrt(log1p(spread * spread)));
}

/* Whether the number of keys is unknown: nearly all bits are set, and the counted keys do not
 * explain that. */
static bool is_saturated(const struct inspect_report *r)
{
    const struct bloomfile_info *info = &r->info;
    const double set = info->hashes * (double)info->keys / (double)info->bits;
    return r->measured && !bloomfile_traits_of(info->layout)->solved &&
           r->measure.fill > OVERFULL_SATURATED && -expm1(-set) < OVERFULL_SATURATED;
}

/* The recorded number may be too low: a live filter over capacity mistakes most new keys for old
 * keys and does not count them. */
static void advise_for_keys(struct inspect_report *r, uint64_t recorded)
{
    const uint64_t estimate = r->measured ? message_estimate(&r->info, &r->measure) : 0;
    const uint64_t keys = estimate > recorded + recorded / 10 ? estimate : recorded;
    if (!is_saturated(r))
        verdict_advise(r, "rebuild it for %" PRIu64 " keys or more (bfcreate --capacity)", keys);
    else if (r->info.state == BLOOMFILE_STATE_LIVE)
        verdict_advise(r, "its bits do not show the number of keys: add all keys to a filter that "
                          "grows (bfcreate --live --grow)");
    else
        verdict_advise(r, "its bits do not show the number of keys: rebuild it without -n, and "
                          "bfcreate counts them");
}

static void advise_for_rate(struct inspect_report *r)
{
    const struct inspect_solution *s = &r->solution;
    const bool solved = bloomfile_traits_of(r->info.layout)->solved;
    const bool are_some = s->unsolved > 0 && s->unsolved < s->pages;
    if (are_some)
        verdict_add(r, ": %" PRIu64 " of %" PRIu64 " pages could not be solved", s->unsolved,
                    s->pages);
    verdict_advise(r, "rebuild it, %s",
                   !solved    ? "or fold it less"
                   : are_some ? "with a secret seed (bfcreate --seed random)"
                              : "larger");
}

static void judge_rate(struct inspect_report *r)
{
    char keys[32], capacity[32], real[32], promised[32];
    const struct bloomfile_info *info = &r->info;
    bool estimated = info->keys_estimated != 0 && r->measured;
    const bool saturated = is_saturated(r);
    uint64_t n = estimated && !saturated ? message_estimate(info, &r->measure) : info->keys;
    bool is_overfull = n > info->capacity && info->layers == 0;
    bool can_tell = r->measured && info->fpr > 0;
    text_count(keys, sizeof(keys), n);
    text_count(capacity, sizeof(capacity), info->capacity);
    cli_percent(real, sizeof(real), r->measure.fpr);
    cli_percent(promised, sizeof(promised), info->fpr);

    if (can_tell ? rate_is_kept(r, is_overfull) : !is_overfull)
        return;
    r->status = INSPECT_PROMISE_BROKEN;
    also(r);
    if (is_overfull) {
        verdict_add(r, "too many keys: %s%s in a filter sized for %s",
                    saturated ? "more than " : "", keys, capacity);
        advise_for_keys(r, n);
    } else {
        verdict_add(r, "rate above target");
        advise_for_rate(r);
    }
    if (r->measured)
        verdict_add(r, "; actual rate %s", real);
    if (can_tell)
        verdict_add(r, ", target %s", promised);
}

/* The approximate rate, from the number of set bits; for a solved layout, from the
 * number of keys. */
static double recorded_rate(const struct bloomfile_info *info)
{
    if (bloomfile_traits_of(info->layout)->solved)
        return message_expected(info, info->keys);
    return pow((double)info->ones / (double)info->bits, info->hashes);
}

/* A filter that returns the same for every key is not damaged, but useless. If a target rate is
 * recorded, judge_rate() has checked the actual rate already. */
static void judge_use(struct inspect_report *r)
{
    const struct bloomfile_info *info = &r->info;
    char real[32];
    const bool live = info->state == BLOOMFILE_STATE_LIVE; /* keys may still be added */
    const double rate = r->measured ? r->measure.fpr : recorded_rate(info);
    if (!live && message_is_empty(info) && (!r->measured || r->measure.keys_estimate == 0)) {
        verdict_add(r, "empty: lookups return no for %s",
                    bloomfile_traits_of(info->layout)->solved ? "nearly every key" : "every key");
        verdict_advise(
            r, "rebuild it if it should have keys: did the program that wrote the keys fail?");
    } else if (info->fpr <= 0 && rate > MESSAGE_USELESS) {
        also(r);
        verdict_add(r, "over capacity: its actual rate is %s%s", r->measured ? "" : "about ",
                    cli_percent(real, sizeof(real), rate));
        verdict_advise(r, "rebuild it larger");
    } else {
        return;
    }
    r->status = INSPECT_PROMISE_BROKEN;
}

static void judge_keys(struct inspect_report *r)
{
    char missing[32], count[32];
    if (r->keys_missing == 0)
        return;
    text_count(missing, sizeof(missing), r->keys_missing);
    text_count(count, sizeof(count), r->keys_count);
    also(r);
    verdict_add(r, "%s of %s key%s missing", missing, count, cli_s(r->keys_count));
    verdict_advise(r,
                   "the filter was made from other keys, or these are read differently: for lines "
                   "that end with CR LF add --crlf, for keys that end with NUL add -0");
    r->status = INSPECT_PROMISE_BROKEN;
}

void verdict_promises(struct inspect_report *r)
{
    judge_keys(r);
    if (r->keys_missing == 0)
        judge_rate(r);
    if (r->status == INSPECT_HEALTHY)
        judge_use(r);
}
