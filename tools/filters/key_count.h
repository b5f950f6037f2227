/* SPDX-License-Identifier: MIT
 *
 * The number of keys in a filter. Its own count is exact as long as there was one writer at a time
 * and none was killed; otherwise the number is estimated from its bits now and then.
 */
#ifndef TOOLS_FILTERS_KEY_COUNT_H
#define TOOLS_FILTERS_KEY_COUNT_H

#include <bloomfile.h>

/* The last estimate; all zero for a filter that was just opened. */
struct key_count {
    uint64_t estimate, counted; /* keys, by the bits and by the filter's own count */
    uint64_t next;              /* the count at which to estimate again */
    uint64_t left;              /* keys to add before that, at least 1 */
    bool estimated;             /* the last number was */
};

/* The keys in the filter. Estimates come the closer, the nearer that is to `limit`. */
uint64_t key_count_of(struct key_count *fill, const bloomfile *f, uint64_t limit);

#endif
