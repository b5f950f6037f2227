/* SPDX-License-Identifier: MIT
 *
 * --confirm: hits are held in memory and compared with a list in a file, so that no false positive
 * is printed. The list is read once for each amount of hits that fills the memory.
 */
#ifndef BLOOMFILE_TOOLS_QUERY_CONFIRM_H
#define BLOOMFILE_TOOLS_QUERY_CONFIRM_H

#include "bfquery/filters.h"
#include "keys/key_list.h"

/* The caller sets the members up to `silent`. Errors end the program by cli_fail(). */
struct confirm {
    char *path;                      /* of the list; NULL: --confirm is not given */
    uint64_t memory;                 /* bytes */
    const struct keys_options *form; /* of the list */
    const struct filters *filters;
    const struct print *print;
    bool silent; /* no progress is shown */

    struct key_list *keys; /* of the hits */
    struct confirm_hit {
        size_t key;  /* in the list */
        size_t text; /* bytes of it */
    } * hits;
    size_t count, room;
    uint8_t *text; /* to be printed for the hits, one after the other */
    size_t text_size, text_room;
    uint64_t *known;    /* for each filter: how many keys of the list it may have */
    bool list_is_short; /* which has been reported: keys of a filter are not in the list */
};

/* Once the filters are open. */
void confirm_begin(struct confirm *c);

/* Holds the chosen keys of a batch, and their lines. */
void confirm_hold(struct confirm *c, struct batch *b);

bool confirm_is_full(const struct confirm *c);

/* Reads the list. Afterwards the hits can be taken. */
void confirm_compare(struct confirm *c);

/* Prints the first hits that are in the list, at most `most`, unless `silently`, and forgets all.
 * Returns how many there were. */
uint64_t confirm_take(struct confirm *c, uint64_t most, bool silently);

void confirm_end(struct confirm *c);

#endif
