/* SPDX-License-Identifier: MIT
 * Detecting filters over capacity, by the ratio of the actual rate to the target. */
#include "filters/overfull.h"

#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <math.h>

#include "cli/cli.h"
#include "filters/messages.h"

/* A rate above this multiple of the target is not due to chance or to a few extra keys. */
static const double overfull = 2;

enum {
    CHEAP_BODY = 16 << 20 /* bytes; reading them takes little longer than starting */
};

bool overfull_is_over(double rate, double promised)
{
    return rate > overfull * promised;
}

/* Whether the size cannot reach the target rate at capacity: the user chose it with -m. */
static bool is_too_small(const struct bloomfile_info *info, double promised)
{
    return message_expected(info, info->capacity) > 1.05 * promised;
}

void overfull_begin(struct overfull *c, const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    *c = (struct overfull){ .capacity = info.capacity,
                            .promised = message_promised(&info),
                            .first = info.keys,
                            .grows = info.layers > 0 };
    c->least = c->next = is_too_small(&info, c->promised) ? 0 : info.capacity;
}

/* The number of keys at which to measure next. The rate rises at most with the k-th power of the
 * number of keys, so it can hardly reach twice the target before. */
static uint64_t next_look(const struct overfull *c, uint32_t hashes)
{
    double growth = 2, keys = (double)c->keys, step = (double)c->capacity / 64 + 1;
    if (c->rate > 0 && c->rate <= overfull * c->promised)
        growth = fmin(growth, pow(overfull * c->promised / c->rate, 1.0 / hashes));
    double next = fmax(keys * growth, keys + step);
    return next < (double)BLOOMFILE_MAX_BITS ? (uint64_t)next : BLOOMFILE_MAX_BITS;
}

/* Whether to find the number of keys now. If other writers add, or a writer was killed, that takes
 * an estimate, which reads the whole filter. Skip it when few keys go into a large filter that
 * seems half empty: a caller that adds many is checked later. */
static bool is_worth_reading(const struct overfull *c, const struct bloomfile_info *info)
{
    bool counted = info->writers <= 1 && info->keys_estimated == 0;
    uint64_t added = info->keys > c->first ? info->keys - c->first : 0;
    return counted || info->body_size <= CHEAP_BODY || info->keys > info->capacity / 2 ||
           added > info->capacity / 64;
}

bool overfull_look(struct overfull *c, const bloomfile_filter *f, bool anyway)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
    bloomfile_get_info(f, &info);
    if (c->grows || !is_worth_reading(c, &info))
        return false;
    uint64_t keys = key_count_of(&c->fill, f, c->next);
    if (keys <= (anyway ? c->least : c->next))
        return false;
    bloomfile_measure(f, &m); /* an error stays the filter's status */
    c->keys = keys;
    c->ones = m.ones;
    c->rate = m.fpr;
    c->next = next_look(c, info.hashes);
    return keys > c->capacity || m.fpr > c->promised;
}

/* The number of keys is computed again, so that it includes the keys of other writers and of
 * killed writers. */
const char *overfull_describe(const bloomfile_filter *f, char *buffer, size_t size)
{
    char target[32];
    struct key_count fill = { 0 };
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    const uint64_t keys = key_count_of(&fill, f, 0);
    bloomfile_get_info(f, &info);
    snprintf(buffer, size,
             "%s%" PRIu64 " key%s in a filter sized for %" PRIu64
             ", and another key would raise its expected false-positive rate above twice the target"
             " of %s",
             fill.estimated ? "about " : "", keys, cli_s(keys), info.capacity,
             cli_percent(target, sizeof(target), message_promised(&info)));
    return buffer;
}

/* ---- The number of keys in a filter, estimated from the bits as rarely as the growth of the
 * count allows. */

static uint64_t estimate(const bloomfile_filter *f, const struct bloomfile_info *info)
{
    struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
    int error = bloomfile_measure(f, &m);
    if (error != 0)
        cli_fail(error, "cannot measure the filter");
    return message_estimate(info, &m);
}

/* Returns the number of keys that this process may add before the next estimate, if every other
 * writer adds as many: a quarter of the keys left, but at least a 64th of the capacity, divided by
 * the writers. */
static uint64_t pace(const struct bloomfile_info *info, uint64_t keys, uint64_t limit)
{
    uint64_t writers = info->writers > 1 ? info->writers : 1;
    uint64_t closer = keys < limit ? (limit - keys) / 4 : 0, least = info->capacity / 64;
    return (closer > least ? closer : least) / writers + 1;
}

uint64_t key_count_of(struct key_count *fill, const bloomfile_filter *f, uint64_t limit)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    fill->left = UINT64_MAX;
    fill->estimated = info.writers > 1 || info.keys_estimated != 0;
    if (!fill->estimated)
        return info.keys;
    if (info.keys >= fill->next || info.keys < fill->counted) {
        fill->estimate = estimate(f, &info);
        fill->counted = info.keys;
        fill->next = info.keys + pace(&info, fill->estimate, limit);
    }
    fill->left = fill->next - info.keys;
    return fill->estimate + (info.keys - fill->counted);
}
