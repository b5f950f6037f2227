/* SPDX-License-Identifier: MIT
 *
 * The writer: keeps the filter and the store together. Trouble ends the program.
 */
#ifndef WRITER_H
#define WRITER_H

#include "store.h"

#include <bloomfile.h>

#define FILTER "guard.bloom"

struct writer {
    const struct store *store;
    bloomfile *filter;
    uint64_t capacity; /* of the filter */
    uint64_t replaced; /* how often, by a larger one */
};

/* Opens the filter, or makes it from the store. One process at a time. */
struct writer writer_open(const struct store *store);

/* Inserts some new orders into the filter and the store. */
void writer_insert(struct writer *w);

void writer_close(struct writer *w);

/* Makes a store that has at least `count` orders, before there is a filter for it. */
void writer_fill(const struct store *store, uint64_t count);

/* Ends the program unless error is 0. */
void check(int error, const char *what);

#endif
