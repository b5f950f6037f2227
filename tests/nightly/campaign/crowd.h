/* SPDX-License-Identifier: MIT
 * A crowd: processes that add, remove, look up, sync, copy, seal and replace, and what each of them
 * has been told, in memory that outlives it. */
#ifndef BLOOMFILE_CAMPAIGN_CROWD_H
#define BLOOMFILE_CAMPAIGN_CROWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <bloomfile.h>

enum {
    ERAS = 1024,       /* filters that replaced one another, the last ones, that are remembered */
    WORKERS = 16,      /* threads that add */
    PROCESSES = 16,    /* of all roles */
    THREADS = 4,       /* of one process, at most */
    COMMON_KEYS = 256, /* that all workers add */
    NOTE_KEYS = 64,    /* a batch of a filter that forgets */
    NOTES = 2048,      /* such batches that are remembered */
    BATCH_MOST = 1024
};

/* What happens, as far as it is not chance. */
struct plan {
    uint64_t seed;
    unsigned milliseconds;
    unsigned layout, series; /* as in bloomfile_params */
    unsigned writers, threads, queriers, copiers;
    unsigned capacity;  /* keys of a filter; of a series: of its first layer */
    unsigned total;     /* keys after which it is replaced */
    unsigned exact;     /* 1: BLOOMFILE_OPEN_ADD_EXACT */
    unsigned batch;     /* keys, at most */
    unsigned syncs;     /* one in so many batches; 0: none */
    unsigned kills;     /* one in so many milliseconds; 0: none */
    unsigned stops;     /* somebody held back, likewise */
    unsigned seals;     /* 1: in place, before it is replaced */
    unsigned last_kill; /* 1: all are killed at the end; 0: all end in order */
    unsigned jitter;    /* see jitter.h */
    unsigned report;    /* one in so many milliseconds; 0: none */
    unsigned leak; /* 1: a descriptor, 2: a mapping, 3: memory, at each reload: is that seen? */
};

#define NO_EPOCH UINT32_MAX

/* What a worker has been told, in one epoch. */
struct progress {
    atomic_ullong added;    /* the adds of keys 0 to added - 1 have returned */
    atomic_ullong removing; /* the removals of keys 0 to removing - 1 have begun */
    atomic_ullong fresh;    /* so many were new */
    atomic_uint common;     /* of the common keys it has added so many */
};

/* What is known of an epoch, which is the time of one filter; the next one replaces it. */
struct era {
    atomic_uint killed;  /* processes, with its filter open */
    atomic_uint unclean; /* of them, in a call that may leave it unclean */
    struct progress progress[WORKERS];
    atomic_uchar told[COMMON_KEYS]; /* how many were told that it is new */
};

/* What a batch of a forgetting filter was told. */
struct note {
    atomic_ullong number; /* of the batch, from 1; 0: being written */
    atomic_ullong layer;  /* the newest before */
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
    TIMES = 64 * 8 /* of powers of 2, eighths */
};

struct place {
    atomic_int pid;
    atomic_uint epoch;   /* whose filter it has open */
    atomic_uint syncing; /* threads in a call that may leave a filter unclean if it is cut off */
    atomic_uint opening; /* 1: that call opens a filter, of the present epoch or the one before */
    unsigned life;       /* how often it was started */
    atomic_int descriptors; /* when it had no filter open, and mappings; -1: never yet */
    atomic_int mappings;
    uint64_t rested; /* when, in nanoseconds */
    uint64_t tallies[THREADS][TALLIES];
    uint64_t times[THREADS][2][TIMES]; /* of lookups and adds, if it is reported: how many took so
                                          many nanoseconds */
};

struct crowd {
    struct plan plan;
    atomic_bool over;
    atomic_bool found;
    char message[2000];
    atomic_uint epoch; /* the present one, or the one before for a moment */
    struct place places[PROCESSES];
    struct era eras[ERAS];
    struct note notes[WORKERS][NOTES];
};

extern struct crowd *crowd;
extern struct place *here;            /* of this process */
extern _Thread_local uint64_t *tally; /* of this thread, */
extern _Thread_local unsigned thread; /* which is that one of its process */

/* Ends all, with a message. */
__attribute__((format(printf, 1, 2))) _Noreturn void found(const char *format, ...);

uint64_t chance(void);      /* of this thread */
uint64_t below(uint64_t n); /* n at most 2^32 */
void chance_begin(uint64_t seed);

unsigned workers(void);
uint64_t quota(void); /* keys of each worker in an epoch */
bool forgets(void);
bool all_done(unsigned epoch);
struct era *era(unsigned epoch);

/* Begins and ends the time of one add or lookup. */
uint64_t time_begin(void);
void time_end(bool add, uint64_t begun);

/* Called when this process has no filter open: notes what it has all the same. */
void rest(void);

/* ---- keys: of a worker, or the common ones, in an epoch */

enum {
    COMMON = 255
};
uint64_t key_id(unsigned epoch, unsigned worker, uint64_t sequence);
uint64_t key_digest(unsigned epoch, unsigned worker, uint64_t sequence);

/* ---- files */

const char *path_of(unsigned epoch);
unsigned epoch_of(const bloomfile_filter *f);
struct bloomfile_params params_of(unsigned epoch);

/* Opens the present filter. NULL: not now; it is sealed, or being sealed or replaced. */
bloomfile_filter *open_present(unsigned flags, unsigned *epoch);

/* Whether an error of a call with a filter of this epoch is one that the manual allows now; if not,
 * ends all. */
void allow(const char *what, int error, const bloomfile_filter *f, unsigned epoch);

void enter_sync(void);
void leave_sync(void);

/* ---- the rule */

/* Looks up some keys that somebody was told of, in one of all ways. */
void look(const bloomfile_filter *f, unsigned epoch);

/* What was told of an epoch until now, for check_all() of a copy that is made later. */
struct told {
    uint64_t added[WORKERS];
    uint8_t common[COMMON_KEYS];
};
struct told told_now(unsigned epoch);

/* All of these keys, or a million of them, are there. `live` is what f is a copy of, or f. */
void check_all(const char *what, const bloomfile_filter *f, const bloomfile_filter *live,
               unsigned epoch, const struct told *told);

/* The counts of a filter to which nobody adds any more. */
void check_counts(const char *what, const bloomfile_filter *f, unsigned epoch);

/* ---- roles; each returns when crowd->over */

void write_for_ever(unsigned process);
void query_for_ever(void);
void copy_for_ever(unsigned process);
void make_for_ever(void);

#endif
