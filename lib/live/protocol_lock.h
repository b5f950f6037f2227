/* SPDX-License-Identifier: MIT
 * The locks for joining, syncing, leaving and sealing (doc/format/live.md), held by an
 * opening of the file made for this one call. A child of fork() shares its parent's openings, and
 * would keep their locks after the parent is killed, or wait for itself; so fork() closes this one
 * in the child. Where the file cannot be opened again (no /proc, no permission, no descriptor
 * left), the handle's opening holds the locks. A protocol lock must not move in memory until it
 * ends.
 */
#ifndef BLOOMFILE_LIVE_PROTOCOL_LOCK_H
#define BLOOMFILE_LIVE_PROTOCOL_LOCK_H

#include "live/handle.h"

struct protocol_lock {
    int fd;
    bool own;    /* opened for this lock */
    int refused; /* why it could not be opened for writing; 0: it could */
    int unfit;   /* why what was opened is not the handle's file; 0: it is */
    struct protocol_lock *next;
};

/* Waits for LOCK_SYNCS on the file of a handle, exclusively. 0 or an errno, EBADF if its descriptor
 * has another file; protocol_lock_end() is due in any case. */
int protocol_lock_take(struct protocol_lock *t, const bloomfile_filter *f);

/* The same, shared: for joining, and for a reader, which may be unable to open the file for
 * writing. */
int protocol_lock_join(struct protocol_lock *t, const bloomfile_filter *f);
int protocol_lock_read(struct protocol_lock *t, const bloomfile_filter *f);

/* Waits for LOCK_RECORDS alone. */
int protocol_lock_commit(struct protocol_lock *t, const bloomfile_filter *f);

/* Waits for LOCK_RECORDS as well, which takes a descriptor for writing; drops it. */
int protocol_lock_records(const struct protocol_lock *t);
void protocol_unlock_records(const struct protocol_lock *t);

/* Drops both. */
void protocol_lock_end(struct protocol_lock *t);

/* Locks LOCK_WRITERS exclusively for a sole adder, without waiting. The opening that holds the lock
 * has no descriptor that the application could close. The mapping *sole keeps it, which a child
 * does not inherit. Returns 0, EBUSY or another errno. */
int protocol_lock_sole(const bloomfile_filter *f, void **sole);
void protocol_unlock_sole(void *sole);

/* Begins a turn: makes the lock of a writer exclusive, if the file has no other writer. Returns
 * whether it did. Until the turn ends signals wait, and forks, so that no child has the lock. */
bool protocol_lock_turn(const bloomfile_filter *f);
void protocol_unlock_turn(const bloomfile_filter *f);

#endif
