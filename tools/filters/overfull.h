/* SPDX-License-Identifier: MIT
 *
 * Detecting filters over capacity while keys are added.
 */
#ifndef TOOLS_FILTERS_OVERFULL_H
#define TOOLS_FILTERS_OVERFULL_H

#include <bloomfile.h>

/* ---- The number of keys in a filter. The filter's own count is exact if it never had two writers
 * at a time and no writer was killed. Otherwise the number is estimated from the bits now and
 * then. */

/* The last estimate. Initialize it with zeros for a filter that was just opened. */
struct key_count {
    uint64_t estimate, counted; /* keys, by the bits and by the filter's own count */
    uint64_t next;              /* the count at which to estimate again */
    uint64_t left;              /* keys to add before that, at least 1 */
    bool estimated;             /* whether the last number was an estimate */
};

/* Returns the number of keys in the filter. The closer it is to `limit`, the more often it
 * is estimated. */
uint64_t key_count_of(struct key_count *fill, const bloomfile_filter *f, uint64_t limit);

/* ---- Detecting a filter that has more keys than it was sized for. */

/* Above this fraction of set bits, the bits do not show how many keys were added. */
#define OVERFULL_SATURATED 0.99

struct overfull {
    struct key_count fill;
    uint64_t least; /* up to this number of keys the rate need not be measured at all */
    uint64_t next;  /* up to this number of keys it is not measured again */
    uint64_t first; /* keys counted at the beginning */
    bool grows;     /* a filter that grows or forgets: never over capacity */

    /* As of the last measurement. */
    uint64_t keys, ones, capacity;
    double rate, promised;
};

/* Whether the actual rate is more than twice the target. */
bool overfull_is_over(double rate, double promised);

/* Begins to watch a filter that is open for adding. */
void overfull_begin(struct overfull *c, const bloomfile_filter *f);

/* Call this from time to time. Returns whether the filter has more keys than its capacity, or a
 * rate above its target. The rate is measured, which reads all bits, only if it may have reached
 * twice the target; with `anyway`, if it may be above the target. */
bool overfull_look(struct overfull *c, const bloomfile_filter *f, bool anyway);

/* Explains why a filter refuses new keys (BLOOMFILE_EFULL): "12000 keys in a filter sized for
 * 10000, and another key would raise its expected false-positive rate above twice the target of
 * 1%". The text begins with "about" if the number was estimated. */
const char *overfull_describe(const bloomfile_filter *f, char *buffer, size_t size);

#endif
