/* SPDX-License-Identifier: MIT
 * --confirm: hits are held in memory and compared with a list in a file, so no false positive is
 * printed. The list is read each time the memory is full, and at the end. */
#ifndef BLOOMFILE_TOOLS_QUERY_CONFIRM_H
#define BLOOMFILE_TOOLS_QUERY_CONFIRM_H

#include "bfquery/filters.h"
#include "keys/key_list.h"

/* The caller sets the members up to `silent`. Errors end the program through cli_fail(). */
struct confirm {
    char *path;                      /* of the list; NULL: no --confirm */
    uint64_t memory;                 /* bytes */
    const struct keys_options *form; /* of the list */
    const struct filters *filters;
    const struct print *print;
    bool silent; /* show no progress */

    struct key_list *keys; /* of the hits */
    struct confirm_hit {
        size_t key;  /* its place in `keys` */
        size_t text; /* bytes of its output */
    } * hits;
    size_t count, room;
    uint8_t *text; /* the output for the hits, in order */
    size_t text_size, text_room;
    struct confirm_known { /* for each filter: */
        uint64_t lines;    /* of the list that it may contain; repeated lines count */
        uint64_t seed;     /* not the filter's: digests of it match by chance only */
        bloomfile_filter *matches, *by_chance; /* to estimate the numbers of distinct keys */
    } * known;
    bool list_is_short; /* keys of a filter are missing from the list; this was reported */
};

/* Call this when the filters are open. */
void confirm_begin(struct confirm *c);

/* Stores the matching keys of a batch, and their output. */
void confirm_hold(struct confirm *c, struct batch *b);

bool confirm_is_full(const struct confirm *c);

/* Reads the list and marks the hits that are in it. */
void confirm_compare(struct confirm *c);

/* Prints up to `most` hits that are in the list, unless `silently`, and drops all hits. Returns the
 * number printed or counted. */
uint64_t confirm_take(struct confirm *c, uint64_t most, bool silently);

void confirm_end(struct confirm *c);

#endif
