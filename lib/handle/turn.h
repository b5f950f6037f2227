/* SPDX-License-Identifier: MIT
 *
 * The locks of one who joins, syncs, leaves or seals a live file (format-spec.md, section 13),
 * through an opening of the file that is made for this one call. A child of fork() shares its
 * parent's openings, and would keep their locks if the parent were killed: this one it has only if
 * it was forked during the call. Where the file cannot be opened anew (no /proc, no right to, no
 * descriptor left), the locks are those of the handle's opening.
 */
#ifndef BLOOMFILE_TURN_H
#define BLOOMFILE_TURN_H

#include <stdbool.h>

struct turn {
    int fd;
    bool own;    /* opened for it */
    int refused; /* why it could not be opened for writing; 0: it could */
};

/* Waits for LOCK_SYNCS on the file of a descriptor, exclusively. 0 or an errno; turn_end() is due
 * in any case. */
int turn_take(struct turn *t, int fd);

/* The same, shared. For who joins, and for a reader, who may be unable to open it for writing. */
int turn_join(struct turn *t, int fd);
int turn_read(struct turn *t, int fd);

/* Waits for LOCK_RECORDS, besides, by a descriptor for writing; gives it back. */
int turn_lock_records(const struct turn *t);
void turn_unlock_records(const struct turn *t);

/* Gives both back. */
void turn_end(const struct turn *t);

#endif
