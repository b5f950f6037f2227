/* SPDX-License-Identifier: MIT
 * Locks on bytes of a file, held by open file descriptions: one opening is one holder, however
 * many threads use it. The kernel drops them with the description, whatever ends it. The bytes
 * need not exist. */
#ifndef BLOOMFILE_LIVE_LOCK_BYTES_H
#define BLOOMFILE_LIVE_LOCK_BYTES_H

#include <stdbool.h>
#include <stdint.h>

/* What the bytes stand for (doc/format/live.md). */
enum {
    LOCK_WRITERS = 0,
    LOCK_RECORDS = 1,
    LOCK_REMOVERS = 2,
    LOCK_SYNCS = 3,
    LOCK_STRIPES = 64, /* the first of LOCK_STRIPE_COUNT */
    LOCK_STRIPE_COUNT = 64,
};

/* Takes a shared or exclusive lock, or changes to it, without waiting. EBUSY if others are in the
 * way; a lock held before is kept. */
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
