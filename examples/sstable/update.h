/* SPDX-License-Identifier: MIT
 *
 * A change of a tablet, by one process at a time:
 *
 *     update_begin()    locks the directory and removes what an interrupted change has left
 *     ...               makes a table with the number manifest.next
 *     update_commit()   puts it in the place of others, by a new manifest
 *     update_end()      removes whatever the manifest in force does not name: the tables that were
 *                       replaced, or, if there was no commit, what was made in vain
 *
 * Killed at any moment, the tablet is as before the change or as after it.
 */
#ifndef UPDATE_H
#define UPDATE_H

#include "manifest.h"

struct update {
    const char *directory;
    const struct reporter *reporter;
    struct manifest manifest;
    int lock;
    bool in_doubt; /* it is not certain which manifest is on disk */
};

/* create: make the directory and the manifest if they are not there. */
int update_begin(struct update *u, const char *directory, bool create,
                 const struct reporter *reporter);

/* Tables first .. first + replaced - 1 of the manifest give way to the new one, or to none. */
int update_commit(struct update *u, size_t first, size_t replaced, bool has_table);

void update_end(struct update *u);

#endif
