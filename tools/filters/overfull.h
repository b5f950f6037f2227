/* SPDX-License-Identifier: MIT
 *
 * Detection of filters over capacity while keys are added.
 */
#ifndef TOOLS_FILTERS_OVERFULL_H
#define TOOLS_FILTERS_OVERFULL_H

#include <bloomfile.h>

/* ---- The number of keys in a filter. Its own count is exact as long as there was one writer
 * at a time and none was killed; otherwise the number is estimated from its bits now and then. */

/* The last estimate; all zero for a filter that was just opened. */
struct key_count {
    uint64_t estimate, counted; /* keys, by the bits and by the filter's own count */
    uint64_t next;              /* the count at which to estimate again */
    uint64_t left;              /* keys to add before that, at least 1 */
    bool estimated;             /* the last number was */
};

/* The keys in the filter. Estimates come the closer, the nearer that is to `limit`. */
uint64_t key_count_of(struct key_count *fill, const bloomfile_filter *f, uint64_t limit);

/* ---- Whether a filter has more keys than it was made for. */

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
void overfull_begin(struct overfull *c, const bloomfile_filter *f);

/* To be called now and then: whether it has more keys than planned, or a rate above the promised
 * one. Measures what the bits say of the rate, which reads all of them, if the rate may be twice
 * the promised one by now; with `anyway`, if it may be above it. */
bool overfull_look(struct overfull *c, const bloomfile_filter *f, bool anyway);

/* Why a filter refuses new keys (BLOOMFILE_EFULL): "12000 keys in a filter sized for 10000, and
 * another key would raise its expected false-positive rate above twice the target of 1%". "about",
 * if the number was estimated from the bits. */
const char *overfull_describe(const bloomfile_filter *f, char *buffer, size_t size);

#endif
