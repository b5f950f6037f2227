/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "peers.h"

#define CELL 32

const char *const form_names[] = {
    [KEYS_HASHED] = "hashed",
    [KEYS_16_BYTES] = "16",
    [KEYS_60_BYTES] = "60",
    [KEYS_MIXED] = "mixed",
};

static const char *const form_words[] = {
    [KEYS_HASHED] = "pre-hashed",
    [KEYS_16_BYTES] = "of 16 bytes",
    [KEYS_60_BYTES] = "of 60 bytes",
    [KEYS_MIXED] = "of 20 to 80 bytes",
};

/* A number, or nothing where there is none. */
static const char *cell(char text[CELL], double value, int digits)
{
    text[0] = '\0';
    if (!isnan(value))
        snprintf(text, CELL, "%.*f", digits, value);
    return text;
}

static void put_cell(double value, int width)
{
    char text[CELL];
    printf(" %*s |", width, cell(text, value, value < 1000 ? 2 : 0));
}

static double speed(const struct series *s, uint64_t bytes, uint64_t queries)
{
    return (double)bytes / (series_median(s) * (double)queries);
}

static void print_limits(const struct trial *t)
{
    puts("| the machine's limits       | one by one | in a batch | changed, in a batch |  GB/s |\n"
         "|----------------------------|-----------:|-----------:|--------------------:|------:|");
    for (unsigned i = 0; i < t->count; i++) {
        const struct entrant *e = &t->entrants[i];
        const struct series *batch = &e->series[OP_BATCH_ABSENT];
        if (!entrant_is_limit(e) || e->is_out)
            continue;
        const bool whole =
            e->series[OP_ONE_ABSENT].count == 0 && e->series[OP_ADD_BATCH].count == 0;
        printf("| %-26s |", e->player->name);
        put_cell(series_median(&e->series[OP_ONE_ABSENT]), 10);
        put_cell(whole ? NAN : series_median(batch), 10);
        put_cell(series_median(&e->series[OP_ADD_BATCH]), 19);
        put_cell(whole ? speed(batch, e->bytes, t->plan.queries) : NAN, 5);
        puts("");
    }
    puts("");
}

static void print_entrant(const struct trial *t, const struct entrant *e)
{
    const struct entrant *floor = trial_best(t, "random lines", NULL, OP_BATCH_ABSENT);
    const bool has_batch = e->series[OP_BATCH_ABSENT].count > 0;
    char text[80], rate[CELL];
    snprintf(text, sizeof text, "%s%s%s", e->player->name, e->player->kernel != NULL ? ", " : "",
             e->player->kernel != NULL ? e->player->kernel : "");
    printf("| %-36s | %8.2f | %7s |", text, entrant_bits_per_key(e, t),
           cell(rate, 100 * entrant_rate(e, t), 4));
    put_cell(series_median(&e->series[OP_ADD_ONE]), 6);
    put_cell(series_median(&e->series[OP_ADD_BATCH]), 10);
    put_cell(entrant_build_ns(e, t), 7);
    put_cell(series_median(&e->series[OP_ONE_ABSENT]), 6);
    put_cell(series_median(&e->series[OP_ONE_PRESENT]), 7);
    put_cell(series_median(&e->series[OP_BATCH_ABSENT]), 13);
    put_cell(series_median(&e->series[OP_BATCH_PRESENT]), 14);
    const struct series *absent = &e->series[has_batch ? OP_BATCH_ABSENT : OP_ONE_ABSENT];
    put_cell(floor == NULL ? NAN : series_ratio(absent, &floor->series[OP_BATCH_ABSENT]), 6);
    puts("");
}

void print_trial(const struct trial *t)
{
    printf("### %" PRIu64 " keys %s, %g bits each: %.2f MB\n\n", t->plan.keys,
           form_words[t->plan.form], t->plan.bits, (double)t->plan.keys * t->plan.bits / 8e6);
    puts("| ns a key                             | bits/key |  rate % |    add | add, batch |   "
         "built "
         "| absent | present | absent, batch | present, batch | x line |\n"
         "|--------------------------------------|---------:|--------:|-------:|-----------:|------"
         "--:"
         "|-------:|--------:|--------------:|---------------:|-------:|");
    for (unsigned i = 0; i < t->count; i++)
        if (!entrant_is_limit(&t->entrants[i]) && !t->entrants[i].is_out)
            print_entrant(t, &t->entrants[i]);
    puts("");
    for (unsigned i = 0; i < t->count; i++)
        if (!entrant_is_limit(&t->entrants[i]) && t->entrants[i].is_out)
            printf("%s could not take part.\n\n", t->entrants[i].player->name);
    print_limits(t);
}

void print_verdicts(const struct verdict *verdicts, unsigned count)
{
    puts("### Verdicts\n");
    puts("| what                                                                           | "
         "measured   | target  | verdict  |\n"
         "|--------------------------------------------------------------------------------|"
         "-----------:|---------|----------|");
    for (unsigned i = 0; i < count; i++) {
        const struct verdict *v = &verdicts[i];
        char value[CELL], target[CELL] = "";
        if (v->target != 0)
            snprintf(target, sizeof target, "%s %g", v->at_least ? ">=" : "<=", v->target);
        printf("| %-78s | %5s %-4s | %-7s | %-8s |\n", v->what, cell(value, v->value, 2), v->unit,
               target,
               v->target == 0       ? ""
               : isnan(v->value)    ? "not here"
               : verdict_is_kept(v) ? "ok"
                                    : "MISSED");
    }
    puts("");
}
