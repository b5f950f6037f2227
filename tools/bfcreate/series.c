/* SPDX-License-Identifier: MIT
 * bfcreate --live --grow and --generations: what goes together. */
#include "bfcreate/create.h"
#include "shared/cli.h"

#include <bloomfile_live.h>

#include <stdlib.h>
#include <string.h>

#define MOST_SECONDS (1ull << 32)

/* Seconds of "30s", "10min", "6h" or "7d"; 0: it is none of these. */
static uint64_t period_of(const char *text)
{
    static const struct {
        const char *suffix;
        uint64_t seconds;
    } units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 } };
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 10)
        return 0;
    const uint64_t number = strtoull(text, NULL, 10);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        const bool fits = number <= MOST_SECONDS / units[i].seconds;
        if (fits && strcmp(text + digits, units[i].suffix) == 0)
            return number * units[i].seconds;
    }
    return 0;
}

static void take_every(struct create *c)
{
    uint64_t keys;
    const size_t digits = strspn(c->every, "0123456789");
    c->params.period = period_of(c->every);
    if (c->params.period > 0 && c->params.capacity == 0)
        cli_usage("--every %s needs -n/--capacity too: how many keys come in that time at most (a"
                  " generation that has them ends sooner)",
                  c->every);
    if (c->params.period > 0)
        return;
    if (digits > 0 && strcmp(c->every + digits, "m") == 0)
        cli_usage("--every %s may be minutes or millions: write %.*smin or %.*sM", c->every,
                  (int)digits, c->every, (int)digits, c->every);
    if (!cli_parse_count(c->every, &keys) || keys < 1 || keys > BLOOMFILE_MAX_BITS)
        cli_usage("--every takes a number of keys such as 10M, or a time such as 30s, 10min, 6h or"
                  " 7d, not '%s'",
                  c->every);
    if (c->params.capacity != 0 && c->params.capacity != keys)
        cli_usage("--every %s is the capacity of a generation: leave out -n, or give --every a"
                  " time",
                  c->every);
    c->params.capacity = keys;
}

static void check_size(const struct create *c, const char *option)
{
    if (c->params.bits != 0 || c->params.hashes != 0)
        cli_usage("%s sizes each layer by -n and -p: leave out %s", option,
                  c->params.bits != 0 ? "-m/--bits" : "-k/--hashes");
    if (c->params.layout == BLOOMFILE_COUNTING)
        cli_usage("%s cannot be of the layout counting: nobody could tell which layer counts a key",
                  option);
}

void create_check_series(struct create *c)
{
    const bool forgets = c->params.series != 0;
    const char *option = c->grow ? "--grow" : forgets ? "--generations" : "--every";
    if (!c->grow && !forgets && c->every == NULL)
        return;
    if (c->grow && (forgets || c->every != NULL))
        cli_usage("--grow keeps all keys, and %s is for filters that forget: give one of them",
                  forgets ? "--generations" : "--every");
    if (!c->live)
        cli_usage("%s is for filters to which programs add: give --live too", option);
    if (!c->grow && !forgets)
        cli_usage("--every needs --generations: how many of them are remembered");
    if (forgets && c->every == NULL)
        cli_usage("--generations needs --every: after how many keys, or how much time, a generation"
                  " ends");
    check_size(c, option);
    if (forgets)
        take_every(c);
    if (c->grow)
        c->params.series = BLOOMFILE_GROW;
    if (c->grow && c->params.capacity == 0)
        c->params.capacity = CREATE_FIRST_LAYER;
}
