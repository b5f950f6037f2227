/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "harness/bench.h"
#include "peers/peers.h"

bool entrant_is_limit(const struct entrant *e)
{
    return e->player->program->is_limits;
}

bool entrant_gets_all(const struct entrant *e, const struct trial_plan *plan)
{
    return !entrant_is_limit(e) && !(plan->hasty && player_is_live(e->player));
}

double entrant_build_ns(const struct entrant *e, const struct trial *t)
{
    return e->is_filled && entrant_gets_all(e, &t->plan)
               ? e->build_seconds * 1e9 / (double)t->plan.keys
               : NAN;
}

double entrant_rate(const struct entrant *e, const struct trial *t)
{
    return entrant_gets_all(e, &t->plan) ? (double)e->false_hits / (double)t->plan.queries : NAN;
}

double entrant_bits_per_key(const struct entrant *e, const struct trial *t)
{
    return (double)e->bytes * 8 / (double)t->plan.keys;
}

double series_median(const struct series *s)
{
    double sorted[TURNS_MOST];
    memcpy(sorted, s->ns, sizeof sorted);
    return s->count > 0 ? bench_median(sorted, s->count) : NAN;
}

double series_ratio(const struct series *s, const struct series *to)
{
    struct series ratios = { .count = s->count < to->count ? s->count : to->count };
    for (unsigned i = 0; i < ratios.count; i++)
        ratios.ns[i] = s->ns[i] / to->ns[i];
    return series_median(&ratios);
}

static bool is_named(const struct player *p, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(p->name, name, length) == 0 &&
           (p->name[length] == '\0' || strstr(p->name + length, " ahead") != NULL);
}

const struct entrant *trial_best(const struct trial *t, const char *name, const char *kernel,
                                 enum op op)
{
    const struct entrant *best = NULL;
    for (unsigned i = 0; i < t->count; i++) {
        const struct entrant *e = &t->entrants[i];
        const char *k = e->player->kernel;
        if (e->is_out || e->series[op].count == 0 || !is_named(e->player, name) ||
            (kernel != NULL && (k == NULL || strcmp(k, kernel) != 0)))
            continue;
        if (best == NULL || series_median(&e->series[op]) < series_median(&best->series[op]))
            best = e;
    }
    return best;
}
