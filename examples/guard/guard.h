/* SPDX-License-Identifier: MIT
 *
 * A live filter before a slow store: the part to copy. Readers ask it whether the store can have an
 * order; one writer keeps filter and store together, and replaces the filter by a larger one before
 * it is full. Trouble ends the program.
 */
#ifndef GUARD_H
#define GUARD_H

#include "store.h"

#include <bloomfile.h>

#define FILTER "guard.bloom"

/* ---- a process that asks */

struct reader {
    bloomfile_filter *filter;
    uint64_t reloads; /* how often it has gone over to a larger one */
};

struct reader reader_open(void);

/* false: the store certainly does not have it. */
bool may_be_stored(struct reader *r, const struct order *order);

/* ---- the process that inserts */

struct writer {
    const struct store *store;
    bloomfile_filter *filter;
    uint64_t capacity; /* of the filter */
    uint64_t replaced; /* how often, by a larger one */
};

/* Opens the filter, or makes it from the store. One process at a time. */
struct writer writer_open(const struct store *store);

#define BATCH 100

/* Inserts orders, at most BATCH, into the filter and the store. */
void writer_insert(struct writer *w, const struct order *orders, size_t count);

void writer_close(struct writer *w);

#endif
