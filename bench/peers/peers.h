/* SPDX-License-Identifier: MIT
 *
 * bench-peers: which contenders there are, a trial of them with one set of keys, and reports.
 */
#ifndef BLOOMFILE_BENCH_PEERS_H
#define BLOOMFILE_BENCH_PEERS_H

#include <stdio.h>

#include "peers/contender.h"

#define PEERS_MOST  64
#define TURNS_MOST  32
#define TRIALS_MOST 16

/* ---- who takes part */

struct program {
    const char *file;  /* beside bench-peers */
    const char *needs; /* without which it was not built; NULL: it always is */
    bool is_limits;
    bool is_twin;     /* of the one before, with the same filters */
    bool is_slow;     /* to fill: left out where there is no time */
    bool has_kernels; /* of bloomfile */
};

struct player {
    const struct program *program;
    const char *kernel; /* NULL: none to choose */
    unsigned index;     /* in the program */
    char name[40], version[24];
};

struct roster {
    struct player players[PEERS_MOST];
    unsigned count;
    int core;
    char folder[4096]; /* of the programs */
    char absent[256];  /* what programs need that were not built */
};

/* Starts every program once, and lets every contender make a small filter. */
void roster_make(struct roster *r, int core);

bool player_is_live(const struct player *p);

/* ---- a trial */

struct trial_plan {
    enum key_form form;
    uint64_t keys;
    double bits; /* per key */
    unsigned turns;
    uint64_t queries;
    bool blocked_only; /* of bloomfile's layouts */
    bool hasty;        /* no slow ones, and only some of the keys for a live filter */
};

enum op {
    OP_ADD_ONE,
    OP_ADD_BATCH,
    OP_ONE_ABSENT,
    OP_ONE_PRESENT,
    OP_BATCH_ABSENT,
    OP_BATCH_PRESENT,
    OPS,
};

/* Nanoseconds a key, a turn each. */
struct series {
    unsigned count;
    double ns[TURNS_MOST];
};

struct entrant {
    const struct player *player;
    enum key_form form;
    struct process *process;
    bool is_out;    /* could not take part to the end */
    bool is_filled; /* gets the keys; else it uses a file that another kernel's process made */
    bool lacks[OPS];
    uint64_t bytes;
    uint64_t lost;        /* present keys that were not found */
    uint64_t false_hits;  /* absent keys that were */
    double build_seconds; /* all of adding and finishing */
    struct series series[OPS];
};

struct trial {
    struct trial_plan plan;
    struct entrant entrants[PEERS_MOST];
    unsigned count;
};

void trial_run(struct trial *t, const struct trial_plan *plan, const struct roster *r);

bool entrant_is_limit(const struct entrant *e);

/* Limits have nothing to keep keys in, and hasty trials cut live filters short. */
bool entrant_gets_all(const struct entrant *e, const struct trial_plan *plan);

double entrant_bits_per_key(const struct entrant *e, const struct trial *t);

/* The measured false-positive rate, and a key's share of building; NaN if they were not measured.
 */
double entrant_rate(const struct entrant *e, const struct trial *t);
double entrant_build_ns(const struct entrant *e, const struct trial *t);

/* The entrant of that name with the least median; NULL: there is none. A limit is taken at its best
 * distance. `kernel` NULL: any. */
const struct entrant *trial_best(const struct trial *t, const char *name, const char *kernel,
                                 enum op op);

/* NaN if there are no values. */
double series_median(const struct series *s);

/* The median of the turns' ratios; NaN if one of the two is empty. */
double series_ratio(const struct series *s, const struct series *to);

/* ---- judging */

struct verdict {
    char what[96];
    double value;  /* NaN: could not be measured */
    double target; /* 0: none */
    bool at_least; /* the target is a lower bound */
    const char *unit;
};

#define VERDICTS_MOST 64

/* Adds to *count what is to be said of the trial. */
void verdicts_of(const struct trial *t, struct verdict *verdicts, unsigned *count);

bool verdict_is_kept(const struct verdict *v);

/* ---- reports */

extern const char *const form_names[]; /* by enum key_form: for --case and JSON */

void print_trial(const struct trial *t);
void print_verdicts(const struct verdict *verdicts, unsigned count);

struct report {
    const struct roster *roster;
    const struct trial *trials;
    unsigned trials_count;
    const struct verdict *verdicts;
    unsigned verdicts_count;
};

/* Of const struct report. The plot, time against rate, is of the largest trial of digests. */
void write_json(FILE *out, const void *report);
void write_plot(FILE *out, const void *report);

/* "Intel(R) Xeon(R) Processor, 4 cores, Linux 6.1.0" */
const char *machine_words(void);

#endif
