/* SPDX-License-Identifier: MIT
 * Trials and verdicts in Markdown. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "harness/table.h"
#include "peers/peers.h"

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

static const char *cell(double value)
{
    return table_number(value, value < 1000 ? 2 : 0);
}

static const char *median(const struct entrant *e, enum op op)
{
    return cell(series_median(&e->series[op]));
}

static double speed(const struct series *s, uint64_t bytes, uint64_t queries)
{
    return (double)bytes / (series_median(s) * (double)queries);
}

static void print_limits(const struct trial *t)
{
    table_start("the machine's limits|>one by one|>in a batch|>changed, in a batch|>GB/s");
    for (unsigned i = 0; i < t->count; i++) {
        const struct entrant *e = &t->entrants[i];
        if (!entrant_is_limit(e) || e->is_out)
            continue;
        const bool whole =
            e->series[OP_ONE_ABSENT].count == 0 && e->series[OP_ADD_BATCH].count == 0;
        table_row("%s|%s|%s|%s|%s", e->player->name, median(e, OP_ONE_ABSENT),
                  whole ? "" : median(e, OP_BATCH_ABSENT), median(e, OP_ADD_BATCH),
                  whole ? cell(speed(&e->series[OP_BATCH_ABSENT], e->bytes, t->plan.queries)) : "");
    }
    table_end();
}

static void print_entrant(const struct trial *t, const struct entrant *e)
{
    const struct entrant *floor = trial_best(t, "random lines", NULL, OP_BATCH_ABSENT);
    const bool has_batch = e->series[OP_BATCH_ABSENT].count > 0;
    const struct series *absent = &e->series[has_batch ? OP_BATCH_ABSENT : OP_ONE_ABSENT];
    table_cells("%s%s%s|%.2f|%s", e->player->name, e->player->kernel != NULL ? ", " : "",
                e->player->kernel != NULL ? e->player->kernel : "", entrant_bits_per_key(e, t),
                table_number(100 * entrant_rate(e, t), 4));
    table_cells("|%s|%s|%s", median(e, OP_ADD_ONE), median(e, OP_ADD_BATCH),
                cell(entrant_build_ns(e, t)));
    for (unsigned op = OP_ONE_ABSENT; op < OPS; op++)
        table_cells("|%s", median(e, (enum op)op));
    table_row("|%s",
              cell(floor == NULL ? NAN : series_ratio(absent, &floor->series[OP_BATCH_ABSENT])));
}

void print_trial(const struct trial *t)
{
    printf("### %" PRIu64 " keys %s, %g bits each: %.2f MB\n\n", t->plan.keys,
           form_words[t->plan.form], t->plan.bits, (double)t->plan.keys * t->plan.bits / 8e6);
    table_start("ns a key|>bits/key|>rate %%|>add|>add, batch|>built|>absent|>present|"
                ">absent, batch|>present, batch|>x line");
    for (unsigned i = 0; i < t->count; i++)
        if (!entrant_is_limit(&t->entrants[i]) && !t->entrants[i].is_out)
            print_entrant(t, &t->entrants[i]);
    table_end();
    for (unsigned i = 0; i < t->count; i++)
        if (!entrant_is_limit(&t->entrants[i]) && t->entrants[i].is_out)
            printf("%s could not take part.\n\n", t->entrants[i].player->name);
    print_limits(t);
}

void print_verdicts(const struct verdict *verdicts, unsigned count)
{
    puts("### Verdicts\n");
    table_start("what|>measured|target|verdict");
    for (unsigned i = 0; i < count; i++) {
        const struct verdict *v = &verdicts[i];
        table_cells("%s|%s %-4s|", v->what, table_number(v->value, 2), v->unit);
        if (v->target == 0)
            table_row("|");
        else
            table_row("%s %g|%s", v->at_least ? ">=" : "<=", v->target,
                      isnan(v->value) ? "not here" : table_verdict(verdict_is_kept(v)));
    }
    table_end();
}
