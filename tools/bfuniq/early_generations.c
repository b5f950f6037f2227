/* SPDX-License-Identifier: MIT
 * Generations that ended early, by the time that each generation says it began. */
#include "bfuniq/early_generations.h"
#include "cli/cli.h"
#include "filters/generation_period.h"

#include <bloomfile_inspect.h>

static struct bloomfile_info info_of(const bloomfile *f, size_t layer)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(bloomfile_layer(f, layer), &info);
    return info;
}

void early_generations_begin(struct early_generations *e, const bloomfile *f)
{
    const size_t layers = bloomfile_layers(f);
    *e = (struct early_generations){ 0 };
    if (layers == 0)
        return;
    const struct bloomfile_info newest = info_of(f, layers - 1);
    e->watching = newest.period > 0;
    e->newest = newest.layer;
}

static void warn(const char *name, uint64_t lasted, uint64_t period)
{
    char is[32], should_be[32];
    cli_warn(0,
             "%s: a generation was full after %s, not %s, so lines are forgotten sooner (to keep "
             "them longer, increase -n)",
             name, period_time(is, sizeof(is), lasted),
             period_time(should_be, sizeof(should_be), period));
}

void early_generations_watch(struct early_generations *e, const bloomfile *f, const char *name)
{
    if (!e->watching)
        return;
    size_t layer = bloomfile_layers(f) - 1;
    struct bloomfile_info now = info_of(f, layer);
    const uint64_t newest = now.layer;
    while (e->watching && layer > 0 && now.layer > e->newest) {
        const struct bloomfile_info before = info_of(f, --layer);
        const bool by_clock = now.began < before.began; /* which was set back */
        if (!by_clock && now.began - before.began < now.period) {
            warn(name, now.began - before.began, now.period);
            e->watching = false;
        }
        now = before;
    }
    e->newest = newest;
}
