/* SPDX-License-Identifier: MIT
 *
 * The parts that the changes of a tablet are made of.
 */
#ifndef CHANGE_H
#define CHANGE_H

#include "tablet.h"

/* ---- update.c
 *
 * How a change survives a kill at any moment:
 *
 *     update_begin()    locks the directory and removes what an interrupted change has left
 *     ...               makes a table with the number manifest.next
 *     update_commit()   puts it in the place of others, by a new manifest
 *     update_end()      removes whatever the manifest in force does not name: the tables that were
 *                       replaced, or, if there was no commit, what was made in vain
 *
 * A program that ends in between does the last at its exit.
 */

struct update {
    const char *directory;
    struct manifest manifest; /* in force */
    int lock;
    bool in_doubt; /* it is not certain which manifest is on disk */
};

/* create: make the directory and the manifest if they are not there. */
void update_begin(struct update *u, const char *directory, bool create);

/* Tables first .. first + replaced - 1 of the manifest give way to the new one, or to none. */
void update_commit(struct update *u, size_t first, size_t replaced, bool has_table);

void update_end(struct update *u);

/* ---- merge.c
 *
 * The rows of several tables as one sequence of ascending keys. Of equal keys the newest is kept.
 * (mtbl_merger does not say which of two equal keys is the newer, and drops the empty key.)
 */

struct merge;

/* Newest first. */
struct merge *merge_new(const struct table *tables, size_t count);

/* The next row, valid until the next call; false: there is none. */
bool merge_next(struct merge *m, struct row *row);

void merge_free(struct merge *m);

#endif
