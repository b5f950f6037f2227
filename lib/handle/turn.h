/* SPDX-License-Identifier: MIT
 * The locks for joining, syncing, leaving and sealing (format-spec.md, section 13), held by an
 * opening of the file made for this one call. A child of fork() shares its parent's openings, and
 * would keep their locks after the parent is killed, or wait for itself; so fork() closes this one
 * in the child. Where the file cannot be opened anew (no /proc, no permission, no descriptor left),
 * the handle's opening holds the locks. A turn stays where it is in memory until it ends.
 */
#ifndef BLOOMFILE_TURN_H
#define BLOOMFILE_TURN_H

#include "handle/handle.h"

struct turn {
    int fd;
    bool own;    /* opened for this turn */
    int refused; /* why it could not be opened for writing; 0: it could */
    int unfit;   /* why what was opened is not the handle's file; 0: it is */
    struct turn *next;
};

/* Waits for LOCK_SYNCS on the file of a handle, exclusively. 0 or an errno, EBADF if its descriptor
 * has another file; turn_end() is due in any case. */
int turn_take(struct turn *t, const bloomfile *f);

/* The same, shared: for joining, and for a reader, which may be unable to open the file for
 * writing. */
int turn_join(struct turn *t, const bloomfile *f);
int turn_read(struct turn *t, const bloomfile *f);

/* Waits for LOCK_RECORDS alone. */
int turn_commit(struct turn *t, const bloomfile *f);

/* Waits for LOCK_RECORDS as well, which takes a descriptor for writing; drops it. */
int turn_lock_records(const struct turn *t);
void turn_unlock_records(const struct turn *t);

/* Drops both. */
void turn_end(struct turn *t);

#endif
