/* SPDX-License-Identifier: MIT
 * The locks for joining, syncing, leaving and sealing (doc/format/live.md). Each call opens the
 * file again and takes its locks on the new open file description. A child of fork() shares its
 * parent's descriptions: it would keep their locks after the parent is killed, or wait for a lock
 * that it holds itself. So a fork handler closes this descriptor in the child. If the file cannot
 * be opened again (no /proc, no permission, no descriptor left), the handle's description holds the
 * locks. A protocol lock must not move in memory until it ends. */
#ifndef BLOOMFILE_LIVE_PROTOCOL_LOCK_H
#define BLOOMFILE_LIVE_PROTOCOL_LOCK_H

#include "live/handle.h"

struct protocol_lock {
    int fd;
    bool own;    /* opened for this lock */
    int refused; /* the errno of opening it for writing, or 0 */
    int unfit;   /* the error if the opened file is not the handle's file, or 0 */
    struct protocol_lock *next;
};

/* Waits for an exclusive LOCK_SYNCS on the file of a handle. Returns 0 or an errno; EBADF if the
 * handle's descriptor belongs to another file now. Call protocol_lock_end() in both cases. */
int protocol_lock_take(struct protocol_lock *t, const bloomfile_filter *f);

/* Wait for a shared LOCK_SYNCS: for joining, and for a reader, which may not be permitted to open
 * the file for writing. */
int protocol_lock_join(struct protocol_lock *t, const bloomfile_filter *f);
int protocol_lock_read(struct protocol_lock *t, const bloomfile_filter *f);

/* Waits for LOCK_RECORDS alone. */
int protocol_lock_commit(struct protocol_lock *t, const bloomfile_filter *f);

/* Waits for LOCK_RECORDS as well, which needs a writable descriptor. protocol_unlock_records()
 * releases it. */
int protocol_lock_records(const struct protocol_lock *t);
void protocol_unlock_records(const struct protocol_lock *t);

/* Releases both. */
void protocol_lock_end(struct protocol_lock *t);

/* Takes LOCK_WRITERS exclusively for a sole adder, without waiting. The mapping *sole keeps the
 * open file description and its lock: there is no descriptor that the application could close, and
 * a child does not inherit the mapping. Returns 0, EBUSY or another errno. */
int protocol_lock_sole(const bloomfile_filter *f, void **sole);
void protocol_unlock_sole(void *sole);

/* Starts a turn: makes the writer's lock exclusive if the file has no other writer, and returns
 * whether it did. Signals and forks wait until the turn ends, so that no child inherits the
 * lock. */
bool protocol_lock_turn(const bloomfile_filter *f);
void protocol_unlock_turn(const bloomfile_filter *f);

#endif
