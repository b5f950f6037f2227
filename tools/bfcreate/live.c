/* SPDX-License-Identifier: MIT
 * bfcreate --live: an empty live filter, which may grow or forget. */
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <inttypes.h>

#include "bfcreate/create.h"
#include "cli/cli.h"
#include "cli/fatal_signals.h"
#include "filters/messages.h"
#include "filters/params.h"
#include "filters/target_file.h"

static void summarize(const struct create *c, const struct bloomfile_info *info)
{
    char size[32], rate[32], room[80];
    const bool forgets = info->generations > 0, grows = info->layers > 0 && !forgets;
    if (forgets)
        snprintf(room, sizeof(room), "%" PRIu32 " generations of %" PRIu64, info->generations,
                 info->capacity);
    else
        snprintf(room, sizeof(room), "%sroom for %" PRIu64, grows ? "grows, at first with " : "",
                 info->capacity);
    cli_note(0, "%s: live, %s key%s at a false-positive rate of %s%s, %s%s", c->path, room,
             cli_s(info->capacity), cli_percent(rate, sizeof(rate), message_promised(info)),
             info->layers > 0 ? " in all" : "", cli_bytes(size, sizeof(size), info->image_size),
             forgets ? " each" : "");
}

void create_live(struct create *c)
{
    bloomfile_filter *f;
    struct bloomfile_params params = c->params;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct cli_progress progress = { .doing = "allocating the filter ...",
                                     .shown_ns = c->quiet ? -1 : 0 };
    target_hold(c->path);
    target_check(c->path, c->force);
    if (!c->allow_empty && target_has_keys(c->path))
        cli_fail(0,
                 "cannot replace %s: its keys would be lost, and a new live filter has no keys "
                 "(write to another file)",
                 c->path);
    cli_progress_step(&progress);
    fatal_signals_catch();
    int error = bloomfile_create(&f, c->path, &params,
                                 (c->force ? BLOOMFILE_TO_REPLACE : 0) |
                                     (c->overfull ? BLOOMFILE_OPEN_OVER_CAPACITY : 0));
    if (error == BLOOMFILE_EFULL && create_describe(c, 0, &info) == 0)
        create_refuse_size(c, &info);
    if (error != 0)
        create_fail(c, error);
    cli_progress_end(&progress);
    bloomfile_get_info(f, &info);
    error = bloomfile_finish(f);
    if (error != 0)
        cli_fail(error, "%s was created, but its last record could not be written", c->path);
    bloomfile_close(f);
    create_put_report(c, &info, 0);
    if (c->summary)
        summarize(c, &info);
}

/* ---- bfcreate --live --grow and --generations: the check of their options. */

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
    if (c->params.layout == BLOOMFILE_LAYOUT_COUNTING)
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
        c->params.series = BLOOMFILE_SERIES_GROW;
    if (c->grow && c->params.capacity == 0)
        c->params.capacity = CREATE_FIRST_LAYER;
}
