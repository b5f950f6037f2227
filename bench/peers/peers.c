/* SPDX-License-Identifier: MIT
 *
 * bench-peers - bloomfile beside other Bloom filters, and beside what the machine can do
 *
 * Each library has a process of its own, each kernel of bloomfile too. All are kept on one core and
 * take turns, with the same keys in the same order.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench.h"
#include "harness/options.h"
#include "harness/save.h"
#include "harness/scratch.h"
#include "harness/table.h"
#include "peers/peers.h"
#include "peers/process.h"

#define QUICK_TURNS  3
#define TURNS        7
#define QUERIES      ((uint64_t)4 << 20)
#define SMALL_STRING ((uint64_t)1 << 20) /* queries of strings, in filters that fit into caches */
#define LARGE        ((uint64_t)100000000)

static const char help[] =
    "usage: bench-peers [--quick | --full | --case FORM:KEYS:BITS] [--turns N] [--queries N]\n"
    "                   [--core N] [--json FILE] [--svg FILE] [DIRECTORY]\n"
    "bloomfile beside libbloom, LevelDB, RocksDB (those that were built in) and the machine's\n"
    "limits: time, size and measured false-positive rate, in Markdown. Files are made in "
    "DIRECTORY\n"
    "(/dev/shm), and removed. --full: 10^9 keys, too. FORM: hashed, 16, 60 or mixed. --svg draws "
    "the\n"
    "largest filters of digests. The exit status is 1 if a figure misses its target.\n";

enum scope {
    QUICK,
    USUAL,
    FULL
};

static const struct {
    enum scope scope; /* the least that has it */
    struct trial_plan plan;
} plans[] = {
    { QUICK, { .form = KEYS_HASHED, .keys = 1000000, .bits = 10 } },
    { USUAL, { .form = KEYS_HASHED, .keys = 1000000, .bits = 16 } },
    { USUAL, { .form = KEYS_16_BYTES, .keys = 1000000, .bits = 10 } },
    { USUAL, { .form = KEYS_60_BYTES, .keys = 1000000, .bits = 10 } },
    { USUAL, { .form = KEYS_HASHED, .keys = 10000000, .bits = 10 } },
    { USUAL, { .form = KEYS_16_BYTES, .keys = 10000000, .bits = 10, .blocked_only = true } },
    { USUAL, { .form = KEYS_60_BYTES, .keys = 10000000, .bits = 10, .blocked_only = true } },
    { QUICK, { .form = KEYS_HASHED, .keys = LARGE, .bits = 10, .blocked_only = true } },
    { USUAL, { .form = KEYS_HASHED, .keys = LARGE, .bits = 16, .blocked_only = true } },
    { USUAL, { .form = KEYS_MIXED, .keys = LARGE, .bits = 10, .blocked_only = true } },
    { FULL, { .form = KEYS_HASHED, .keys = 10 * LARGE, .bits = 10, .blocked_only = true } },
};

static uint64_t quick, full, turns, queries, core;
static const char *one, *json, *svg;

static const struct bench_option options[] = {
    OPTION_FLAG("quick", &quick),
    OPTION_FLAG("full", &full),
    OPTION_NUMBER("turns", &turns, 0, 0, 1, TURNS_MOST),
    OPTION_NUMBER("queries", &queries, 0, 0, 1, UINT64_MAX),
    OPTION_NUMBER("core", &core, UINT64_MAX, 0, 0, 1 << 20),
    OPTION_TEXT("case", &one),
    OPTION_TEXT("json", &json),
    OPTION_TEXT("svg", &svg),
};

static struct trial trials[TRIALS_MOST];
static struct verdict verdicts[VERDICTS_MOST];
static struct roster roster;

_Noreturn static void usage(void)
{
    fputs(help, stderr);
    exit(BENCH_TROUBLE);
}

/* FORM:KEYS:BITS */
static struct trial_plan read_case(const char *text)
{
    struct trial_plan plan = { .keys = 0 };
    char form[8], end;
    if (sscanf(text, "%7[^:]:%" SCNu64 ":%lf%c", form, &plan.keys, &plan.bits, &end) != 3 ||
        plan.keys < 8 || !(plan.bits >= 1 && plan.bits <= 64))
        usage();
    for (unsigned i = 0; i <= KEYS_MIXED; i++)
        if (strcmp(form, form_names[i]) == 0) {
            plan.form = (enum key_form)i;
            return plan;
        }
    usage();
}

/* What is not given follows from the scope and the keys. */
static struct trial_plan completed(struct trial_plan plan)
{
    plan.hasty = quick != 0 && plan.keys >= LARGE;
    plan.turns = turns != 0 ? (unsigned)turns : quick != 0 ? QUICK_TURNS : TURNS;
    plan.queries = queries != 0                                     ? queries
                   : plan.form == KEYS_HASHED || plan.keys >= LARGE ? QUERIES
                                                                    : SMALL_STRING;
    return plan;
}

static unsigned choose_plans(struct trial_plan chosen[TRIALS_MOST])
{
    const enum scope scope = quick != 0 ? QUICK : full != 0 ? FULL : USUAL;
    unsigned count = 0;
    if (one != NULL) {
        chosen[0] = completed(read_case(one));
        return 1;
    }
    for (unsigned i = 0; i < sizeof plans / sizeof plans[0]; i++)
        if (plans[i].scope <= scope)
            chosen[count++] = completed(plans[i].plan);
    return count;
}

/* Files for filters and limits; a counting filter is four times the size. */
static uint64_t room_for(const struct trial_plan *chosen, unsigned count)
{
    double most = 0;
    for (unsigned i = 0; i < count; i++) {
        const double bytes = (double)chosen[i].keys * chosen[i].bits / 8;
        const double most_here = bytes * (chosen[i].blocked_only ? 8 : 16);
        most = most_here > most ? most_here : most;
    }
    return (uint64_t)most;
}

static void run(const struct trial_plan *chosen, unsigned count, struct report *r)
{
    printf("%s\n\n", machine_words());
    if (roster.absent[0] != '\0')
        printf("Not built in, for want of: %s.\n\n", roster.absent);
    for (unsigned i = 0; i < count; i++) {
        trial_run(&trials[i], &chosen[i], &roster);
        print_trial(&trials[i]);
        verdicts_of(&trials[i], verdicts, &r->verdicts_count);
        bench_flush();
    }
    print_verdicts(verdicts, r->verdicts_count);
    bench_flush();
}

int main(int argc, char **argv)
{
    struct trial_plan chosen[TRIALS_MOST];
    const char *where =
        bench_options(argc, argv, help, options, sizeof options / sizeof options[0]);
    const unsigned count = choose_plans(chosen);
    scratch_make(where != NULL ? where : "/dev/shm", "bench-peers", room_for(chosen, count));
    signal(SIGPIPE, SIG_IGN); /* a contender that has ended is told by its silence */
    roster_make(&roster, core == UINT64_MAX ? process_last_core() : (int)core);

    struct report r = {
        .roster = &roster, .trials = trials, .trials_count = count, .verdicts = verdicts
    };
    run(chosen, count, &r);
    save(json, write_json, &r);
    save(svg, write_plot, &r);
    return table_status();
}
