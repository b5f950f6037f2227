/* SPDX-License-Identifier: MIT
 *
 * What a trial must show. A ratio is the median of the ratios of the turns.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "harness/bench.h"
#include "peers/peers.h"

#define LARGE ((uint64_t)100000000) /* keys; at 10 bits 125 MB */
#define SMALL ((uint64_t)1000000)   /* 1.25 MB */

#define BLOCKED "bloomfile blocked"
#define LIVE    "bloomfile blocked, live"
#define LINES   "random lines"

static const char *presence(enum op op)
{
    return op == OP_ONE_PRESENT || op == OP_BATCH_PRESENT ? "present" : "absent";
}

/* The verdicts of one trial, as they are collected. */
struct judge {
    const struct trial *t;
    struct verdict *verdicts;
    unsigned *count;
};

__attribute__((format(printf, 3, 4))) static void judge(const struct judge *j, struct verdict v,
                                                        const char *format, ...)
{
    va_list arguments;
    if (*j->count == VERDICTS_MOST)
        bench_fail(0, "keep so many verdicts; try fewer cases");
    const struct trial_plan *plan = &j->t->plan;
    const int length = snprintf(v.what, sizeof v.what, "%s, %.4g MB: ", form_names[plan->form],
                                (double)plan->keys * plan->bits / 8e6);
    va_start(arguments, format);
    vsnprintf(v.what + length, sizeof v.what - (size_t)length, format, arguments);
    va_end(arguments);
    j->verdicts[(*j->count)++] = v;
}

/* The ratio of a's times to b's; NaN if one of them is not there. */
static double ratio(const struct entrant *a, enum op op, const struct entrant *b, enum op other)
{
    return a != NULL && b != NULL ? series_ratio(&a->series[op], &b->series[other]) : NAN;
}

static const struct entrant *best(const struct judge *j, const char *name, enum op op)
{
    return trial_best(j->t, name, NULL, op);
}

/* How many times as fast as another library in its best way, if that is there. */
static void judge_peer(const struct judge *j, const char *peer, enum op op, double target)
{
    const enum op one = op == OP_BATCH_PRESENT ? OP_ONE_PRESENT : OP_ONE_ABSENT;
    const bool has_batch = best(j, peer, op) != NULL;
    const struct entrant *other = best(j, peer, has_batch ? op : one);
    if (other != NULL)
        judge(
            j,
            (struct verdict){ .value = ratio(other, has_batch ? op : one, best(j, BLOCKED, op), op),
                              .target = target,
                              .at_least = true,
                              .unit = "x" },
            "batch lookup, %s: speed beside %s", presence(op), peer);
}

static void judge_batch(const struct judge *j, enum op op)
{
    judge(j,
          (struct verdict){ .value = ratio(best(j, BLOCKED, op), op, best(j, LINES, op), op),
                            .target = 1.15,
                            .unit = "x" },
          "batch lookup, %s: time beside random lines", presence(op));
    judge_peer(j, "RocksDB", op, 2.5);
    judge_peer(j, "RocksDB, AVX2", op, 0);
    judge_peer(j, "LevelDB", op, 0);
    judge_peer(j, "libbloom", op, 0);
    judge(j,
          (struct verdict){ .value = ratio(trial_best(j->t, BLOCKED, "scalar", op), op,
                                           trial_best(j->t, BLOCKED, "avx512", op), op),
                            .target = 4,
                            .unit = "x" },
          "batch lookup, %s: scalar beside avx512", presence(op));
}

static void judge_single(const struct judge *j, enum op op)
{
    judge(j,
          (struct verdict){ .value = ratio(best(j, BLOCKED, op), op, best(j, LINES, op), op),
                            .target = 1.1,
                            .unit = "x" },
          "single lookup, %s: time beside a loop over random lines", presence(op));
}

static void judge_adds(const struct judge *j)
{
    judge(j,
          (struct verdict){ .value = ratio(best(j, LIVE, OP_ADD_BATCH), OP_ADD_BATCH,
                                           best(j, LINES, OP_ADD_BATCH), OP_ADD_BATCH),
                            .target = 2.5,
                            .unit = "x" },
          "live add, batch: time beside changing random lines");
}

static void judge_small(const struct judge *j, enum op op)
{
    const struct entrant *e = best(j, BLOCKED, op);
    judge(j,
          (struct verdict){ .value = e != NULL ? series_median(&e->series[op]) : NAN,
                            .target = 1.5,
                            .unit = "ns" },
          "single lookup, %s", presence(op));
    judge(j, (struct verdict){ .value = ratio(e, op, best(j, LINES, op), op), .unit = "x" },
          "single lookup, %s: time beside a loop over random lines", presence(op));
}

/* Beside hashing alone and 1.3 times the limit of lines. */
static void judge_mixed(const struct judge *j, enum op op)
{
    const struct entrant *hashing = best(j, "hashing", op), *lines = best(j, LINES, op);
    struct series floor = { 0 };
    if (hashing != NULL && lines != NULL)
        while (floor.count < hashing->series[op].count && floor.count < lines->series[op].count) {
            const unsigned i = floor.count++;
            floor.ns[i] = hashing->series[op].ns[i] + 1.3 * lines->series[op].ns[i];
        }
    const struct entrant *ours = best(j, BLOCKED, op);
    judge(j,
          (struct verdict){ .value = ours != NULL ? series_ratio(&ours->series[op], &floor) : NAN,
                            .target = 1,
                            .unit = "x" },
          "batch lookup, %s: time beside hashing + 1.3 x random lines", presence(op));
    judge_peer(j, "LevelDB", op, 3);
    judge_peer(j, "libbloom", op, 5);
    judge_peer(j, "RocksDB", op, 0);
    judge_peer(j, "RocksDB, AVX2", op, 0);
}

static void judge_losses(const struct judge *j)
{
    double lost = 0;
    for (unsigned i = 0; i < j->t->count; i++)
        if (!j->t->entrants[i].is_out)
            lost += (double)j->t->entrants[i].lost;
    judge(j, (struct verdict){ .value = lost, .target = 0.5, .unit = "keys" },
          "present keys not found");
}

void verdicts_of(const struct trial *t, struct verdict *verdicts, unsigned *count)
{
    const struct judge j = { t, verdicts, count };
    const bool dense = t->plan.bits == 10;
    judge_losses(&j);
    if (dense && t->plan.form == KEYS_HASHED && t->plan.keys == LARGE) {
        judge_batch(&j, OP_BATCH_ABSENT);
        judge_batch(&j, OP_BATCH_PRESENT);
        judge_single(&j, OP_ONE_ABSENT);
        judge_single(&j, OP_ONE_PRESENT);
        judge_adds(&j);
    } else if (dense && t->plan.form == KEYS_HASHED && t->plan.keys == SMALL) {
        judge_small(&j, OP_ONE_ABSENT);
        judge_small(&j, OP_ONE_PRESENT);
    } else if (dense && t->plan.form == KEYS_MIXED && t->plan.keys == LARGE) {
        judge_mixed(&j, OP_BATCH_ABSENT);
        judge_mixed(&j, OP_BATCH_PRESENT);
    }
}

bool verdict_is_kept(const struct verdict *v)
{
    return v->target == 0 || isnan(v->value) ||
           (v->at_least ? v->value >= v->target : v->value <= v->target);
}
