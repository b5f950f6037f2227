/* SPDX-License-Identifier: MIT
 *
 * Whether a filter that is being filled still keeps its promise.
 */
#ifndef BLOOMFILE_TOOLS_CROWD_H
#define BLOOMFILE_TOOLS_CROWD_H

#include "shared/fill.h"

/* A share of ones from which on the bits do not show how many keys there were. */
#define CROWD_SATURATED 0.99

enum crowd_state {
    CROWD_NONE, /* it keeps the promise, or did not long ago */
    CROWD_FULL, /* more keys than planned, or a rate above the promised one */
    CROWD_OVER, /* the real rate is more than twice the promised one */
};

struct crowd {
    struct fill fill;
    uint64_t least; /* keys up to which nothing needs to be measured */
    uint64_t next;  /* keys up to which it cannot be overfull */
    uint64_t first; /* keys counted at the beginning */
    bool grows;     /* or forgets, so that it never has too many */

    /* As last measured. */
    uint64_t keys, ones, capacity;
    uint64_t estimate; /* keys by the bits: false positives are not counted as keys */
    double set;        /* the share of bits that are ones */
    double rate, promised;
};

/* Whether the real rate is so far above the promised one that a filter counts as overfull. */
bool crowd_is_over(double rate, double promised);

/* Begins to watch a filter that is open for adding. */
void crowd_begin(struct crowd *c, const bloomfile *f);

/* To be called now and then: measures what the bits say of the rate, which reads all of them, if
 * the filter may be overfull by now; with `anyway`, if it may be full. */
enum crowd_state crowd_look(struct crowd *c, const bloomfile *f, bool anyway);

/* How many keys may be added before it is looked again; at least 1. */
uint64_t crowd_room(const struct crowd *c, const bloomfile *f);

/* The capacity to advise once `read` keys, some perhaps repeated, have overfilled the filter: twice
 * the keys in it, or `read` if nearly all bits are set and it is more; rounded up to two digits. */
uint64_t crowd_enough(const struct crowd *c, uint64_t read);

/* "FILE is overfull: 30000 keys, for a capacity of 10000: its false-positive rate is 12 %, more
 * than twice the 1 % promised" in buffer, which it returns. */
const char *crowd_describe(const struct crowd *c, const char *name, char *buffer, size_t size);

#endif
