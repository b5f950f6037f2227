/* SPDX-License-Identifier: MIT
 * Locks on bytes of a file, held by open file descriptions: all threads that use an opening are one
 * holder. The kernel drops the locks when the description ends. The bytes need not exist. */
#ifndef BLOOMFILE_LIVE_LOCK_BYTES_H
#define BLOOMFILE_LIVE_LOCK_BYTES_H

#include <stdbool.h>
#include <stdint.h>

/* What the bytes protect (live.md, section 4). */
enum {
    LOCK_WRITERS = 0,  /* shared: writers; exclusive: a sealer, a sole adder, a turn */
    LOCK_RECORDS = 1,  /* exclusive: the commit records are read, written and synced */
    LOCK_REMOVERS = 2, /* exclusive: a key is removed */
    LOCK_SYNCS = 3,    /* exclusive: a sync, leaving, sealing; shared: joining, a reader's sync */
    LOCK_STRIPES = 64, /* the first of LOCK_STRIPE_COUNT, for exact adders */
    LOCK_STRIPE_COUNT = 64,
};

/* Takes a shared or exclusive lock, or changes to it, without waiting. EBUSY if another description
 * has a conflicting lock; then a lock held before is kept. */
int lock_try(int fd, uint64_t byte, bool exclusive);

/* Waits for an exclusive lock on `count` bytes. 0 or an errno. */
int lock_wait(int fd, uint64_t byte, uint64_t count);

/* Waits for a shared lock; a descriptor for reading will do. */
int lock_wait_shared(int fd, uint64_t byte);

void lock_drop(int fd, uint64_t byte, uint64_t count);

/* Whether another description holds the byte, or holds it exclusively. */
int lock_held_by_others(int fd, uint64_t byte, bool *held);
int lock_held_exclusively(int fd, uint64_t byte, bool *held);

#endif
