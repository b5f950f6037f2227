/* SPDX-License-Identifier: MIT
 *
 * bench-curve - the measured false-positive rate against the size, of bloomfile and other libraries
 *
 * Each filter gets the same keys, and is asked for absent ones until so many were found that chance
 * hardly matters. Nothing is timed, and every run says the same.
 */
#include "peers/curve.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench.h"
#include "harness/options.h"
#include "harness/save.h"
#include "harness/scratch.h"
#include "harness/table.h"
#include "peers/process.h"

#define KEYS    ((uint64_t)1000000)
#define HITS    ((uint64_t)10000) /* for a standard error of 1 % */
#define LOOKUPS ((uint64_t)64000000)
#define ROUND   ((uint64_t)1000000) /* keys asked for at a time */

static const char help[] =
    "usage: bench-curve [--keys N] [--lookups N] [--svg FILE] [DIRECTORY]\n"
    "The measured false-positive rates of filters of 4 to 24 bits a key, of bloomfile, libbloom,\n"
    "LevelDB and RocksDB (those that were built in), in Markdown; --svg draws them. Files are "
    "made\n"
    "in DIRECTORY (/dev/shm), and removed.\n";

static struct roster roster;
static struct curves curves = { .hits = HITS };
static const char *svg;

static const struct bench_option options[] = {
    OPTION_NUMBER("keys", &curves.keys, KEYS, 0, 1, UINT64_MAX),
    OPTION_NUMBER("lookups", &curves.lookups, LOOKUPS, 0, 1, UINT64_MAX),
    OPTION_TEXT("svg", &svg),
};

/* A counting filter has the bits of a classic one, a live one those of a sealed one, and kernels do
 * not differ. */
static bool is_wanted(const struct player *p)
{
    for (unsigned i = 0; i < curves.count; i++)
        if (strcmp(curves.of[i].player->name, p->name) == 0)
            return false;
    return !p->program->is_limits && !p->program->is_twin && !player_is_live(p) &&
           strstr(p->name, "counting") == NULL;
}

static enum answer ask_either(struct process *p, struct reply *reply, const char *verb,
                              unsigned index, const char *rest)
{
    const enum answer answer = process_ask(p, reply, "%s %u batch %s", verb, index, rest);
    return answer == ANSWER_NONE ? process_ask(p, reply, "%s %u one %s", verb, index, rest)
                                 : answer;
}

static double measured_rate(struct process *p, unsigned index)
{
    uint64_t hits = 0, asked = 0;
    struct reply reply;
    while (hits < curves.hits && asked < curves.lookups) {
        const uint64_t left = curves.lookups - asked, now = left < ROUND ? left : ROUND;
        if (process_ask(p, &reply, "queries %u %" PRIu64 " %" PRIu64, KEYS_HASHED,
                        curves.keys + asked, now) != ANSWER_OK ||
            ask_either(p, &reply, "lookup", index, "absent") != ANSWER_OK)
            return NAN;
        hits += reply.number;
        asked += now;
    }
    return hits > 0 ? (double)hits / (double)asked : NAN;
}

static bool measure_point(struct curve *c, unsigned i, struct process *p)
{
    const unsigned index = c->player->index, bits = CURVE_FEWEST + i * CURVE_STEP;
    char count[32];
    struct reply reply;
    snprintf(count, sizeof count, "%" PRIu64, curves.keys);
    if (process_ask(p, &reply, "create %u %s %u %u", index, count, bits, KEYS_HASHED) !=
            ANSWER_OK ||
        ask_either(p, &reply, "add", index, count) != ANSWER_OK ||
        process_ask(p, &reply, "finish %u", index) != ANSWER_OK)
        return false;
    c->bits[i] = (double)reply.number * 8 / (double)curves.keys;
    c->rate[i] = measured_rate(p, index);
    return process_ask(p, &reply, "drop %u", index) == ANSWER_OK;
}

static void measure_curve(const struct player *player)
{
    char path[sizeof roster.folder + 64];
    struct curve *c = &curves.of[curves.count];
    snprintf(path, sizeof path, "%s/%s", roster.folder, player->program->file);
    struct process *p = process_start(path, player->kernel, roster.core);
    bool done = true;
    *c = (struct curve){ .player = player };
    for (unsigned i = 0; i < CURVE_POINTS && done; i++)
        done = measure_point(c, i, p);
    process_end(p);
    if (done)
        curves.count++;
    else
        fprintf(stderr, "%s could not take part to the end, and is left out\n", player->name);
}

double curve_ideal(double bits)
{
    return exp(-bits * M_LN2 * M_LN2);
}

static void print_curves(void)
{
    printf("%" PRIu64 " keys; false-positive rate in %%, and bits a key where they are not those "
           "asked for\n\n",
           curves.keys);
    char heads[512] = ">bits a key";
    for (unsigned i = 0; i < curves.count; i++)
        snprintf(heads + strlen(heads), sizeof heads - strlen(heads), "|>%s",
                 curves.of[i].player->name);
    table_start("%s|>ideal", heads);
    for (unsigned point = 0; point < CURVE_POINTS; point++) {
        const unsigned bits = CURVE_FEWEST + point * CURVE_STEP;
        table_cells("%u", bits);
        for (unsigned i = 0; i < curves.count; i++) {
            const struct curve *c = &curves.of[i];
            table_cells("|%.3g", 100 * c->rate[point]);
            if (fabs(c->bits[point] - bits) >= 0.1)
                table_cells(" (%.1f)", c->bits[point]);
        }
        table_row("|%.3g", 100 * curve_ideal(bits));
    }
    table_end();
}

int main(int argc, char **argv)
{
    const char *where =
        bench_options(argc, argv, help, options, sizeof options / sizeof options[0]);
    scratch_make(where != NULL ? where : "/dev/shm", "bench-curve", curves.keys * CURVE_MOST / 2);
    signal(SIGPIPE, SIG_IGN); /* a contender that has ended is told by its silence */
    roster_make(&roster, process_last_core());
    for (unsigned i = 0; i < roster.count && curves.count < CURVES_MOST; i++)
        if (is_wanted(&roster.players[i]))
            measure_curve(&roster.players[i]);
    print_curves();
    save(svg, write_curves, &curves);
    return 0;
}
