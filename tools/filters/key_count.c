/* SPDX-License-Identifier: MIT
 * The number of keys in a filter, estimated from the bits as seldom as the growth of the count
 * allows. */
#include "filters/key_count.h"

#include "cli/cli.h"
#include "filters/messages.h"

#include <bloomfile_inspect.h>

static uint64_t estimate(const bloomfile *f, const struct bloomfile_info *info)
{
    struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
    int error = bloomfile_measure(f, &m);
    if (error != 0)
        cli_fail(error, "cannot measure the filter");
    return message_estimate(info, &m);
}

/* How many keys this process may add before the next estimate, while each other writer adds as
 * many: a quarter of what is left, but not less than a 64th of the capacity. */
static uint64_t pace(const struct bloomfile_info *info, uint64_t keys, uint64_t limit)
{
    uint64_t writers = info->writers > 1 ? info->writers : 1;
    uint64_t closer = keys < limit ? (limit - keys) / 4 : 0, least = info->capacity / 64;
    return (closer > least ? closer : least) / writers + 1;
}

uint64_t key_count_of(struct key_count *fill, const bloomfile *f, uint64_t limit)
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
