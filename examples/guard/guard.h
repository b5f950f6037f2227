/* SPDX-License-Identifier: MIT
 *
 * A live filter in front of a slow store: the part to copy. Readers look up in it whether the store
 * may have an order. One writer keeps filter and store consistent, and replaces the filter by a
 * larger filter before it is full. An error ends the program.
 */
#ifndef GUARD_H
#define GUARD_H

#include "store.h"

#include <bloomfile.h>

#define FILTER "guard.bloom"

/* ---- a process that looks up orders */

struct reader {
    bloomfile_filter *filter;
    uint64_t reloads; /* how often it has changed to a larger filter */
};

struct reader reader_open(void);

/* false: the store certainly does not have the order. */
bool may_be_stored(struct reader *r, const struct order *order);

/* ---- the process that inserts */

struct writer {
    const struct store *store;
    bloomfile_filter *filter;
    uint64_t capacity; /* of the filter, in orders */
    uint64_t replaced; /* how often by a larger filter */
};

/* Opens the filter, or builds it from the store. Only one process may do so at a time. */
struct writer writer_open(const struct store *store);

#define BATCH 100

/* Inserts at most BATCH orders into the filter and the store. */
void writer_insert(struct writer *w, const struct order *orders, size_t count);

void writer_close(struct writer *w);

#endif
