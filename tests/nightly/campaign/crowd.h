/* SPDX-License-Identifier: MIT
 * A crowd: processes that add, remove, look up, sync, copy, seal and replace, and the results
 * reported to each, in memory that outlives them. */
#ifndef BLOOMFILE_CAMPAIGN_CROWD_H
#define BLOOMFILE_CAMPAIGN_CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <bloomfile.h>

enum {
    ERAS = 1024,       /* the latest filters, which are remembered */
    WORKERS = 16,      /* threads that add */
    PROCESSES = 16,    /* in all roles */
    THREADS = 4,       /* most threads of a process */
    COMMON_KEYS = 256, /* added by all workers */
    NOTE_KEYS = 64,    /* keys in a batch of a forgetting filter */
    NOTES = 2048,      /* remembered batches */
    BATCH_MOST = 1024
};

/* The parameters of a run; the rest is random. */
struct plan {
    uint64_t seed;
    unsigned milliseconds;
    unsigned layout, series; /* as in bloomfile_params */
    unsigned writers, threads, queriers, copiers;
    unsigned capacity;  /* keys of a filter; of a series: of its first layer */
    unsigned total;     /* keys after which the filter is replaced */
    unsigned exact;     /* 1: BLOOMFILE_OPEN_ADD_EXACT */
    unsigned batch;     /* most keys in a batch */
    unsigned syncs;     /* batches per sync; 0: never */
    unsigned kills;     /* milliseconds per kill; 0: never */
    unsigned stops;     /* milliseconds per stopped process; 0: never */
    unsigned seals;     /* 1: sealed in place before it is replaced */
    unsigned last_kill; /* 1: all processes are killed at the end; 0: all end properly */
    unsigned jitter;    /* see jitter.h */
    unsigned report;    /* milliseconds per report; 0: never */
    unsigned leak;      /* kind of leak at each reload, 1 to 3, for testing a soak */
};

#define NO_EPOCH UINT32_MAX

/* The results reported to a worker in one epoch. */
struct progress {
    atomic_ullong added;    /* the adds of keys 0 to added - 1 have returned */
    atomic_ullong removing; /* the removals of keys 0 to removing - 1 have begun */
    atomic_ullong fresh;    /* how many of them were new */
    atomic_uint common;     /* common keys that it has added */
};

/* The facts about an epoch, the time of one filter; the next filter replaces it. */
struct era {
    atomic_uint killed;  /* killed processes that had its filter open */
    atomic_uint unclean; /* those killed in a call that may leave it unclean */
    struct progress progress[WORKERS];
    atomic_uchar told[COMMON_KEYS]; /* how many adders got it as new */
};

/* The results reported for a batch of a forgetting filter. */
struct note {
    atomic_ullong number; /* of the batch, from 1; 0: being written */
    atomic_ullong layer;  /* the newest layer before the batch */
    atomic_ullong fresh;  /* a bit for each key that was new */
};

enum tally {
    ADDS,
    REMOVES,
    QUERIES,
    SYNCS,
    GROWS,
    SEALS,
    COPIES,
    FOLDS,
    MERGES,
    PROJECTIONS,
    DELTAS,
    RESCUES,
    REPLACES,
    RELOADS,
    KILLS,
    UNCLEAN,
    CHECKED,
    TALLIES
};

enum {
    TIMES = 64 * 8 /* for each power of 2, in eighths */
};

struct place {
    atomic_int pid;
    atomic_uint epoch;      /* of the filter that it has open */
    atomic_uint syncing;    /* threads in a call that may leave a filter unclean when killed */
    atomic_uint opening;    /* 1: that call opens a filter, of this epoch or the previous epoch */
    unsigned life;          /* how often the process was started */
    atomic_int descriptors; /* counted while it had no filter open; -1: never yet */
    atomic_int mappings;
    uint64_t rested; /* the time of that count, in nanoseconds */
    uint64_t tallies[THREADS][TALLIES];
    uint64_t times[THREADS][2][TIMES]; /* of lookups and adds: counts by time */
};

struct crowd {
    struct plan plan;
    atomic_bool over;
    atomic_bool found;
    char message[2000];
    atomic_uint epoch; /* the present epoch, or briefly the previous epoch */
    struct place places[PROCESSES];
    struct era eras[ERAS];
    struct note notes[WORKERS][NOTES];
};

extern struct crowd *crowd;
extern struct place *here;            /* the place of this process */
extern _Thread_local uint64_t *tally; /* the tallies of this thread */
extern _Thread_local unsigned thread; /* the number of this thread in its process */

/* Ends the whole crowd with a message. */
__attribute__((format(printf, 1, 2))) _Noreturn void found(const char *format, ...);

uint64_t chance(void);      /* a random number of this thread */
uint64_t below(uint64_t n); /* n at most 2^32 */
void chance_begin(uint64_t seed);

unsigned workers(void);
uint64_t quota(void); /* keys of each worker in an epoch */
bool forgets(void);
bool all_done(unsigned epoch);
struct era *era(unsigned epoch);

/* Begin and end the time of one add or lookup. */
uint64_t time_begin(void);
void time_end(bool add, uint64_t begun);

/* Called when this process has no filter open: notes its descriptors and mappings. */
void rest(void);

/* ---- keys: of a worker, or common keys, in an epoch */

enum {
    COMMON = 255
};
uint64_t key_id(unsigned epoch, unsigned worker, uint64_t sequence);
uint64_t key_digest(unsigned epoch, unsigned worker, uint64_t sequence);

/* ---- files */

const char *path_of(unsigned epoch);
unsigned epoch_of(const bloomfile_filter *f);
struct bloomfile_params params_of(unsigned epoch);

/* Opens the present filter. Returns NULL while it is sealed, or is being sealed or replaced. */
bloomfile_filter *open_present(unsigned flags, unsigned *epoch);

/* Waits until the manual allows this error of a call with a filter of this epoch. If that does
 * not happen, ends the crowd. */
void allow(const char *what, int error, const bloomfile_filter *f, unsigned epoch);

void enter_sync(void);
void leave_sync(void);

/* ---- the rule */

/* Looks up some keys whose adds were reported, by a random function. */
void look(const bloomfile_filter *f, unsigned epoch);

/* The results reported in an epoch so far, for check_all() of a later copy. */
struct told {
    uint64_t added[WORKERS];
    uint8_t common[COMMON_KEYS];
};
struct told told_now(unsigned epoch);

/* Asserts that all of these keys, or a million of them, are present. `live` is the source of f,
 * or f. */
void check_all(const char *what, const bloomfile_filter *f, const bloomfile_filter *live,
               unsigned epoch, const struct told *told);

/* Checks the counts of a filter after the last add. */
void check_counts(const char *what, const bloomfile_filter *f, unsigned epoch);

/* ---- roles; each returns when crowd->over */

void write_for_ever(unsigned process);
void query_for_ever(void);
void copy_for_ever(unsigned process);
void make_for_ever(void);

#endif
