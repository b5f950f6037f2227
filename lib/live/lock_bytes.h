/* SPDX-License-Identifier: MIT
 * Locks on bytes of a file (F_OFD_SETLK). The open file description holds them, not the thread: all
 * threads that use it are one holder. The kernel releases them when the last descriptor of the
 * description is closed. The bytes need not exist. */
#ifndef BLOOMFILE_LIVE_LOCK_BYTES_H
#define BLOOMFILE_LIVE_LOCK_BYTES_H

#include <stdbool.h>
#include <stdint.h>

/* The bytes, and the operations that each protects (live.md, section 4). */
enum {
    LOCK_WRITERS = 0,  /* shared: each writer; exclusive: sealing, a sole adder, a turn */
    LOCK_RECORDS = 1,  /* exclusive: the commit records are read, written and synced */
    LOCK_REMOVERS = 2, /* exclusive: a key is removed */
    LOCK_SYNCS = 3,    /* exclusive: a sync, leaving, sealing; shared: joining, a reader's sync */
    LOCK_STRIPES = 64, /* the first of LOCK_STRIPE_COUNT, for exact adders */
    LOCK_STRIPE_COUNT = 64,
};

/* Takes a shared or exclusive lock, or converts the lock held, without waiting. Returns EBUSY if
 * another description has a conflicting lock; a lock held before is then kept. */
int lock_try(int fd, uint64_t byte, bool exclusive);

/* Waits for an exclusive lock on `count` bytes. Returns 0 or an errno. */
int lock_wait(int fd, uint64_t byte, uint64_t count);

/* Waits for a shared lock. The descriptor need not be writable. */
int lock_wait_shared(int fd, uint64_t byte);

void lock_drop(int fd, uint64_t byte, uint64_t count);

/* Set *held to whether another description holds the byte, or holds it exclusively. */
int lock_held_by_others(int fd, uint64_t byte, bool *held);
int lock_held_exclusively(int fd, uint64_t byte, bool *held);

#endif
