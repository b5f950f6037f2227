/* SPDX-License-Identifier: MIT
 * The locks for joining, syncing, leaving and sealing (doc/format/live.md), held by an opening of
 * the file made for this one call. A child of fork() shares its parent's openings. It would keep
 * their locks after the parent is killed, or wait for itself, so fork() closes this opening in the
 * child. If the file cannot be opened again (no /proc, no permission, no descriptor left), the
 * handle's opening holds the locks. A protocol lock must not move in memory until it ends. */
#ifndef BLOOMFILE_LIVE_PROTOCOL_LOCK_H
#define BLOOMFILE_LIVE_PROTOCOL_LOCK_H

#include "live/handle.h"

struct protocol_lock {
    int fd;
    bool own;    /* opened for this lock */
    int refused; /* why it could not be opened for writing; 0: it could */
    int unfit;   /* why the opened file is not the handle's; 0: it is */
    struct protocol_lock *next;
};

/* Waits for LOCK_SYNCS on the file of a handle, exclusively. 0 or an errno; EBADF if the handle's
 * descriptor has another file. Call protocol_lock_end() in any case. */
int protocol_lock_take(struct protocol_lock *t, const bloomfile_filter *f);

/* The same, shared: for joining, and for a reader, which may be unable to open it for writing. */
int protocol_lock_join(struct protocol_lock *t, const bloomfile_filter *f);
int protocol_lock_read(struct protocol_lock *t, const bloomfile_filter *f);

/* Waits for LOCK_RECORDS alone. */
int protocol_lock_commit(struct protocol_lock *t, const bloomfile_filter *f);

/* Also waits for LOCK_RECORDS (needs a writable descriptor); _unlock_records() releases it. */
int protocol_lock_records(const struct protocol_lock *t);
void protocol_unlock_records(const struct protocol_lock *t);

/* Releases both. */
void protocol_lock_end(struct protocol_lock *t);

/* Locks LOCK_WRITERS exclusively for a sole adder, without waiting. The mapping *sole keeps the
 * opening and its lock: the application has no descriptor to close, and a child does not inherit
 * the mapping. Returns 0, EBUSY or another errno. */
int protocol_lock_sole(const bloomfile_filter *f, void **sole);
void protocol_unlock_sole(void *sole);

/* Starts a turn: makes the writer's lock exclusive if the file has no other writer. Returns whether
 * it did. Signals and forks wait until the turn ends, so that no child inherits the lock. */
bool protocol_lock_turn(const bloomfile_filter *f);
void protocol_unlock_turn(const bloomfile_filter *f);

#endif
