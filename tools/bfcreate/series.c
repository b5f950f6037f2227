/* SPDX-License-Identifier: MIT
 * bfcreate --live --grow and --generations: the check of their options. */
#include "bfcreate/create.h"
#include "cli/cli.h"
#include "filters/generation_period.h"

#include <bloomfile_live.h>

static void take_every(struct create *c)
{
    uint64_t keys;
    period_take(c->every, &keys, &c->params.period);
    if (c->params.period > 0 && c->params.capacity == 0)
        cli_usage("--every %s also needs -n/--capacity, the largest number of keys in that time (a "
                  "full generation ends sooner)",
                  c->every);
    if (c->params.period > 0)
        return;
    if (c->params.capacity != 0 && c->params.capacity != keys)
        cli_usage(
            "--every %s sets the capacity of a generation: leave out -n, or set --every to a time",
            c->every);
    c->params.capacity = keys;
}

static void check_size(const struct create *c, const char *option)
{
    if (c->params.bits != 0 || c->params.hashes != 0)
        cli_usage("%s sizes each layer by -n and -p: leave out %s", option,
                  c->params.bits != 0 ? "-m/--bits" : "-k/--hashes");
    if (c->params.layout == BLOOMFILE_COUNTING)
        cli_usage("%s does not work with -l counting: it cannot know which layer holds a key",
                  option);
}

void create_check_series(struct create *c)
{
    const bool forgets = c->params.series != 0;
    const char *option = c->grow ? "--grow" : forgets ? "--generations" : "--every";
    if (!c->grow && !forgets && c->every == NULL)
        return;
    if (c->grow && (forgets || c->every != NULL))
        cli_usage("--grow and %s are mutually exclusive", forgets ? "--generations" : "--every");
    if (!c->live)
        cli_usage("%s needs --live", option);
    if (!c->grow && !forgets)
        cli_usage("--every needs --generations");
    if (forgets && c->every == NULL)
        cli_usage("--generations needs --every");
    check_size(c, option);
    if (forgets)
        take_every(c);
    if (c->grow)
        c->params.series = BLOOMFILE_GROW;
    if (c->grow && c->params.capacity == 0)
        c->params.capacity = CREATE_FIRST_LAYER;
}
