/* SPDX-License-Identifier: MIT
 * Adds and removals in one live image. */
#ifndef BLOOMFILE_LIVE_ADDING_H
#define BLOOMFILE_LIVE_ADDING_H

#include "format/layout.h"
#include "live/capacity.h"
#include "live/handle.h"
#include "live/records.h"

#define ADDING_MOST       1024 /* digests in a call of adding(), which checks the file's state first */
#define ADDING_TURN       8192 /* digests in a turn, at most: then another writer may join */
#define ADDING_TURN_LEAST 64   /* digests in a turn, at least: fewer do not pay for its locks */
#define ADDING_FAST       4000 /* nanoseconds a digest: a slower stretch has waited for a disk */
#define ADDING_SPELL      100000000 /* nanoseconds of turns between two gaps, approximately */
#define ADDING_GAP        3000000 /* nanoseconds without a turn, so that another writer can join */
#define ADDING_SUCCEEDED                                                                           \
    INT32_MIN /* internal: the layer has a successor and does not accept keys */

struct adding_done {
    size_t keys;     /* added; after an error, the first of the call */
    size_t new_keys; /* of these, how many were new */
};

/* Adds n digests, at most ADDING_MOST, and raises the counts of *done. was_new may be NULL; it is
 * set for each added key. BLOOMFILE_EFULL: the next key is new, and capacity_limit() is reached. */
int adding(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
           struct adding_done *done);

/* Chooses how the handle adds. Call it before the handle joins. */
static inline void adding_start(bloomfile_filter *f, unsigned flags)
{
    struct live *l = f->live;
    l->alone = (flags & BLOOMFILE_OPEN_SOLE_ADDER) != 0;
    /* A counting filter also has counts from threads that remove keys. */
    l->session->alone = (flags & (BLOOMFILE_OPEN_SOLE_ADDER | BLOOMFILE_OPEN_ONE_THREAD)) != 0 &&
                        !layout_of(f->header.layout)->counts;
    l->turns = (flags & BLOOMFILE_OPEN_ONE_THREAD) != 0 && !l->alone && !l->in_memory &&
               f->kernel->add_alone != NULL;
    l->exact = (flags & BLOOMFILE_OPEN_ADD_EXACT) != 0 && !l->alone; /* alone, it is exact anyway */
    l->set = l->exact ? NULL : l->alone ? f->kernel->set_alone : f->kernel->set_shared;
}

/* The short path of a single add. If the add needs no lock and no more room, and the handle has no
 * error, adds the digest and returns true. Otherwise returns false: call adding(). */
static inline bool adding_one(bloomfile_filter *f, uint64_t digest, bool *was_new)
{
    const struct live *l = f->live;
    if (l == NULL || l->set == NULL || !guard_all_good(f->guard) || !session_is_ready(l->session) ||
        live_in_doubt(f))
        return false;
    const unsigned ones =
        l->set((uint8_t *)(uintptr_t)f->view.body, f->view.units, f->view.k, digest);
    shared_order(); /* add 2: as in add_all() */
    if (ones != 0)
        capacity_count_key(f, ones);
    if (was_new != NULL)
        *was_new = ones != 0;
    return true;
}

/* A turn: the only writer of a file locks out other writers, and adds a batch by storing whole
 * words (live.md, "Sole adders"). Ends the present turn, and starts another for the next of `left`
 * digests if that pays. A long call calls adding_turn() before it adds digest `at`, and with `left`
 * 0 after the last. */
void adding_next_turn(bloomfile_filter *f, size_t left);

static inline void adding_turn(bloomfile_filter *f, size_t at, size_t left)
{
    if (f->live != NULL && f->live->turns && at % ADDING_TURN == 0)
        adding_next_turn(f, left);
}

/* Adds all n digests even if the layer is full: late adds of a forgetting series (live.md, S10). */
int adding_late(bloomfile_filter *f, const uint64_t *digests, size_t n);

/* Takes back one add of a key, in a counting image. BLOOMFILE_EABSENT: it is certainly absent. */
int removing(bloomfile_filter *f, uint64_t digest);

#endif
