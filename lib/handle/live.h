/* SPDX-License-Identifier: MIT
 *
 * The records of a live file: reading them while others commit, committing, poisoning
 * (format-spec.md, section 13).
 */
#ifndef BLOOMFILE_LIVE_H
#define BLOOMFILE_LIVE_H

#include "format/shared.h"
#include "handle/handle.h"

/* That of a live record: after it two are left to poison with. */
#define LIVE_LAST_SEQUENCE (HEADER_SEALED_SEQUENCE - 3)

/* Decodes the mapped header anew: the commit record that is in force now. An error if it is not
 * that of a valid image with the same static header, or BLOOMFILE_ETRUNCATED if it is gone. */
int live_load(const bloomfile *f, struct header *now);

/* The same for who is about to commit: BLOOMFILE_EPOISONED or _ESEALED unless it is live. */
int live_load_to_commit(const bloomfile *f, struct header *now);

/* Whether the body is no longer what was added: a writer, this one or another, was told that its
 * pages may not have reached the disk. To be asked after the bits have said no: then it is noticed
 * by whoever sees a page that was read anew since. */
static inline bool live_in_doubt(const bloomfile *f)
{
    shared_order();
    if (atomic_load_explicit(&f->guard->distrust, memory_order_relaxed))
        return true;
    if (!header_poisoned_now(f->live))
        return false;
    /* For good: the page may be read anew from disk. */
    guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    return true;
}

/* `r` with what this handle has counted. */
struct record live_add_counts(const struct header *h, struct record r,
                              const struct kernel_change *counted);

/* ---- for a writer that holds LOCK_RECORDS; now: what live_load_to_commit() said */

/* Writes `next` over the record that is not in force, with the next sequence, once the one in force
 * is on disk; makes it that of *now. An error of the write leaves all as it was; one of the sync
 * poisons. */
int live_write(const bloomfile *f, struct header *now, struct record next);

/* The same, and syncs it. */
int live_commit(const bloomfile *f, struct header *now, struct record next);

/* After a failed sync; changes *now. Returns `error`. */
int live_poison(const bloomfile *f, struct header *now, int error);

/* The same for a handle for reading, without the lock, by a descriptor for writing; -1: it may not
 * write. */
int live_poison_as_reader(const bloomfile *f, int fd, int error);

#endif
