/* SPDX-License-Identifier: MIT
 * Adding to one live image. */
#ifndef BLOOMFILE_LIVE_ADDING_H
#define BLOOMFILE_LIVE_ADDING_H

#include "live/capacity.h"
#include "live/handle.h"
#include "live/records.h"

#define ADDING_MOST 1024 /* digests at once: between two checks of the file's state */
#define ADDING_SUCCEEDED                                                                           \
    INT32_MIN /* no error of the interface: the layer has a successor, and does not accept more    \
                 keys */

struct adding_done {
    size_t keys;     /* that were added; after an error, the first keys */
    size_t new_keys; /* of these */
};

/* Adds n digests, ADDING_MOST at most, and to *done what was done. was_new may be NULL; it is set
 * for what was added. BLOOMFILE_EFULL: the next key is new, and capacity_limit() is reached. */
int adding(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
           struct adding_done *done);

/* Chooses how the handle adds, before it joins. */
static inline void adding_start(bloomfile_filter *f, unsigned flags)
{
    struct live *l = f->live;
    l->alone = l->session->alone = (flags & BLOOMFILE_OPEN_SOLE_ADDER) != 0;
    l->exact = (flags & BLOOMFILE_OPEN_ADD_EXACT) != 0 && !l->alone; /* exact in any case */
    l->set = l->exact ? NULL : l->alone ? f->kernel->set_alone : f->kernel->set_shared;
}

/* Adds a digest and returns true, if that needs no lock, no room and no look at the error of the
 * handle; otherwise returns false, and adding() does it. */
static inline bool adding_one(bloomfile_filter *f, uint64_t digest, bool *was_new)
{
    const struct live *l = f->live;
    if (l == NULL || l->set == NULL || !guard_all_good(f->guard) || !session_is_ready(l->session) ||
        live_in_doubt(f))
        return false;
    const unsigned ones =
        l->set((uint8_t *)(uintptr_t)f->view.body, f->view.units, f->view.k, digest);
    shared_order(); /* add 2: as in adding() */
    if (ones != 0)
        capacity_count_key(f, ones);
    if (was_new != NULL)
        *was_new = ones != 0;
    return true;
}

/* Adds all of them, though the layer may be full. */
int adding_late(bloomfile_filter *f, const uint64_t *digests, size_t n);

/* Takes one add of a key back, from a counting image. BLOOMFILE_EABSENT: it is certainly absent. */
int removing(bloomfile_filter *f, uint64_t digest);

#endif
