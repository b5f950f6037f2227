/* SPDX-License-Identifier: MIT */
#include "uniq_fill.h"
#include "cli.h"

static const double most_keys = 1e18;

static uint64_t estimate(const bloomfile *f)
{
    struct bloomfile_measure m = BLOOMFILE_MEASURE_INIT;
    int error = bloomfile_measure(f, &m);
    if (error != 0)
        cli_fail(error, "cannot measure the filter");
    return (uint64_t)(m.keys_estimate < most_keys ? m.keys_estimate + 0.5 : most_keys);
}

/* The others may be as fast as this process, and there may be several of them. */
static uint64_t pace(uint64_t keys, uint64_t limit, uint64_t capacity)
{
    uint64_t closer = keys < limit ? (limit - keys) / 8 : 0, least = capacity / 64 + 1;
    return closer > least ? closer : least;
}

uint64_t fill_keys(struct fill *fill, const bloomfile *f, uint64_t limit)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    if (info.writers <= 1 && info.keys_estimated == 0)
        return info.keys;
    if (info.keys >= fill->next || info.keys < fill->counted) {
        fill->estimate = estimate(f);
        fill->counted = info.keys;
        fill->next = info.keys + pace(fill->estimate, limit, info.capacity);
    }
    return fill->estimate + (info.keys - fill->counted);
}
