/* SPDX-License-Identifier: MIT
 * Adding to a single live image, and removing from it. */
#ifndef BLOOMFILE_LIVE_ADDING_H
#define BLOOMFILE_LIVE_ADDING_H

#include "format/layout.h"
#include "live/capacity.h"
#include "live/handle.h"
#include "live/records.h"

#define ADDING_MOST       1024 /* digests in a call of adding(), which checks the file's state once */
#define ADDING_TURN       8192      /* most digests in a turn; other writers can join after it */
#define ADDING_TURN_LEAST 64        /* fewest digests in a turn; fewer do not pay for its locks */
#define ADDING_FAST       4000      /* nanoseconds a digest; a slower stretch waited for a disk */
#define ADDING_SPELL      100000000 /* nanoseconds: turns follow each other for about so long */
#define ADDING_GAP        3000000 /* nanoseconds: then a gap without turns, so that writers can join */
#define ADDING_SUCCEEDED                                                                           \
    INT32_MIN /* internal: the layer has a successor and does not accept keys */

struct adding_done {
    size_t keys;     /* number of keys added; after an error, the first keys of the call */
    size_t new_keys; /* number of these that were new */
};

/* Adds n digests, at most ADDING_MOST, and increments the counts of *done. was_new may be NULL; it
 * is set for each added key. Returns BLOOMFILE_EFULL if the next key is new and capacity_limit() is
 * reached. */
int adding(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
           struct adding_done *done);

/* Chooses the functions by which the handle adds. Call it before the handle joins the writers. */
static inline void adding_start(bloomfile_filter *f, unsigned flags)
{
    struct live *l = f->live;
    l->alone = (flags & BLOOMFILE_OPEN_SOLE_ADDER) != 0;
    /* A counting filter also has counts from threads that remove keys. */
    l->session->alone = (flags & (BLOOMFILE_OPEN_SOLE_ADDER | BLOOMFILE_OPEN_ONE_THREAD)) != 0 &&
                        !layout_of(f->header.layout)->counts;
    l->turns = (flags & BLOOMFILE_OPEN_ONE_THREAD) != 0 && !l->alone && !l->in_memory &&
               f->kernel->add_alone != NULL;
    l->exact = (flags & BLOOMFILE_OPEN_ADD_EXACT) != 0 && !l->alone; /* alone is exact anyway */
    l->set = l->exact ? NULL : l->alone ? f->kernel->set_alone : f->kernel->set_shared;
}

/* The fast path of a single add. If the add needs no lock and no more room, and the handle has no
 * error, adds the digest and returns true. Otherwise returns false; then call adding(). */
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

/* A turn: the only writer of a file locks out other writers for up to ADDING_TURN digests. During a
 * turn it can store whole words instead of setting bits by locked instructions (live.md, "Sole
 * adders"). adding_next_turn() ends the present turn and, if that pays, starts another for the next
 * of `left` digests. A long call calls adding_turn() before it adds digest `at`, and with `left` =
 * 0 after the last digest. */
void adding_next_turn(bloomfile_filter *f, size_t left);

static inline void adding_turn(bloomfile_filter *f, size_t at, size_t left)
{
    if (f->live != NULL && f->live->turns && at % ADDING_TURN == 0)
        adding_next_turn(f, left);
}

/* Adds all n digests even if the layer is full: for late adds of a forgetting series (live.md,
 * S10). */
int adding_late(bloomfile_filter *f, const uint64_t *digests, size_t n);

/* Undoes one add of a key, in a counting image. Returns BLOOMFILE_EABSENT if the key is certainly
 * absent. */
int removing(bloomfile_filter *f, uint64_t digest);

#endif
