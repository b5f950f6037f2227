/* SPDX-License-Identifier: MIT
 *
 * bench-peers - bloomfile beside other Bloom filters, and beside what the machine can do
 *
 * Each library has a process of its own, each kernel of bloomfile too. All are kept on one core and
 * take turns, with the same keys in the same order.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "peers.h"
#include "peers_process.h"
#include "save.h"
#include "scratch.h"

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

static struct {
    enum scope scope;
    struct trial_plan one; /* --case; keys 0: none */
    unsigned turns;
    uint64_t queries;
    int core;
    const char *json, *svg, *directory;
} wanted = { .scope = USUAL, .core = -1 };

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

static int read_core(const char *text)
{
    int core;
    char end;
    if (sscanf(text, "%d%c", &core, &end) != 1 || core < 0)
        usage();
    return core;
}

static void read_option(int option)
{
    if (option == 'q')
        wanted.scope = QUICK;
    else if (option == 'f')
        wanted.scope = FULL;
    else if (option == 'c')
        wanted.one = read_case(optarg);
    else if (option == 't')
        wanted.turns = (unsigned)bench_number(optarg);
    else if (option == 'n')
        wanted.queries = bench_number(optarg);
    else if (option == 'C')
        wanted.core = read_core(optarg);
    else if (option == 'j')
        wanted.json = optarg;
    else if (option == 's')
        wanted.svg = optarg;
    else
        usage();
}

static void read_options(int argc, char **argv)
{
    static const struct option options[] = {
        { "quick", no_argument, NULL, 'q' },         { "full", no_argument, NULL, 'f' },
        { "case", required_argument, NULL, 'c' },    { "turns", required_argument, NULL, 't' },
        { "queries", required_argument, NULL, 'n' }, { "core", required_argument, NULL, 'C' },
        { "json", required_argument, NULL, 'j' },    { "svg", required_argument, NULL, 's' },
        { "help", no_argument, NULL, 'h' },          { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            bench_flush();
            exit(0);
        }
        read_option(option);
    }
    if (argc - optind > 1 || wanted.turns > TURNS_MOST)
        usage();
    wanted.directory = optind < argc ? argv[optind] : "/dev/shm";
    if (wanted.core < 0)
        wanted.core = process_last_core();
}

/* What is not given follows from the scope and the keys. */
static struct trial_plan completed(struct trial_plan plan)
{
    plan.hasty = wanted.scope == QUICK && plan.keys >= LARGE;
    plan.turns = wanted.turns != 0 ? wanted.turns : wanted.scope == QUICK ? QUICK_TURNS : TURNS;
    if (wanted.queries != 0)
        plan.queries = wanted.queries;
    else
        plan.queries = plan.form == KEYS_HASHED || plan.keys >= LARGE ? QUERIES : SMALL_STRING;
    return plan;
}

static unsigned choose_plans(struct trial_plan chosen[TRIALS_MOST])
{
    unsigned count = 0;
    if (wanted.one.keys > 0) {
        chosen[0] = completed(wanted.one);
        return 1;
    }
    for (unsigned i = 0; i < sizeof plans / sizeof plans[0]; i++)
        if (plans[i].scope <= wanted.scope)
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

static void put_json(FILE *out, const void *report)
{
    write_json(out, report);
}

static void draw(FILE *out, const void *report)
{
    const struct report *r = report;
    const struct trial *largest = &r->trials[0];
    for (unsigned i = 1; i < r->trials_count; i++)
        if (r->trials[i].plan.form == KEYS_HASHED && r->trials[i].plan.bits <= 10 &&
            r->trials[i].plan.keys >= largest->plan.keys)
            largest = &r->trials[i];
    write_plot(out, largest);
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
    read_options(argc, argv);
    const unsigned count = choose_plans(chosen);
    scratch_make(wanted.directory, "bench-peers", room_for(chosen, count));
    signal(SIGPIPE, SIG_IGN); /* a contender that has ended is told by its silence */
    roster_make(&roster, wanted.core);

    struct report r = {
        .roster = &roster, .trials = trials, .trials_count = count, .verdicts = verdicts
    };
    run(chosen, count, &r);
    save(wanted.json, put_json, &r);
    save(wanted.svg, draw, &r);
    for (unsigned i = 0; i < r.verdicts_count; i++)
        if (!verdict_is_kept(&verdicts[i]))
            return BENCH_MISSED;
    return 0;
}
