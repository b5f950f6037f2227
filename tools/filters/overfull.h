/* SPDX-License-Identifier: MIT
 *
 * Detection of filters over capacity while keys are added.
 */
#ifndef TOOLS_FILTERS_OVERFULL_H
#define TOOLS_FILTERS_OVERFULL_H

#include "filters/key_count.h"

/* A share of ones from which on the bits do not show how many keys there were. */
#define OVERFULL_SATURATED 0.99

struct overfull {
    struct key_count fill;
    uint64_t least; /* keys up to which nothing needs to be measured */
    uint64_t next;  /* keys up to which it is not measured again */
    uint64_t first; /* keys counted at the beginning */
    bool grows;     /* or forgets, so that it never has too many */

    /* As last measured. */
    uint64_t keys, ones, capacity;
    double rate, promised;
};

/* Whether the real rate is so far above the promised one that a filter counts as overfull. */
bool overfull_is_over(double rate, double promised);

/* Begins to watch a filter that is open for adding. */
void overfull_begin(struct overfull *c, const bloomfile *f);

/* To be called now and then: whether it has more keys than planned, or a rate above the promised
 * one. Measures what the bits say of the rate, which reads all of them, if the rate may be twice
 * the promised one by now; with `anyway`, if it may be above it. */
bool overfull_look(struct overfull *c, const bloomfile *f, bool anyway);

/* Why a filter refuses new keys (BLOOMFILE_EFULL): "12000 keys in a filter sized for 10000, and
 * another key would raise its expected false-positive rate above twice the target of 1%". "about",
 * if the number was estimated from the bits. */
const char *overfull_describe(const bloomfile *f, char *buffer, size_t size);

#endif
