/* SPDX-License-Identifier: MIT
 *
 * The handle of a live file: joining its writers, committing, poisoning (format-spec.md, section
 * 13).
 */
#ifndef BLOOMFILE_LIVE_H
#define BLOOMFILE_LIVE_H

#include <bloomfile_inspect.h>

#include "handle.h"

/* Decodes the mapped header anew: the commit record that is in force now. An error if it is not
 * that of a valid image with the same static header, or BLOOMFILE_ETRUNCATED if it is gone. */
int live_load(const bloomfile *f, struct header *now);

/* The same for who is about to commit: BLOOMFILE_EPOISONED or _ESEALED unless it is live. */
int live_load_to_commit(const bloomfile *f, struct header *now);

/* Whether a live record tells of a file that may be used: BLOOMFILE_EUNCLEAN, also if this system
 * does not tell its boot; an errno. */
int live_check_clean(const struct record *r, bool accept_unclean);

/* Becomes one of the file's writers, which f->fd is open for: takes the lock and commits a record
 * with this boot's identity. EBUSY, BLOOMFILE_EUNCLEAN, _ESEALED, _EPOISONED, an errno. */
int live_join(bloomfile *f, bool accept_unclean);

/* Whether the handle may change the body now: 0 or what the operations tell. A child of fork()
 * joins by its first call. */
int live_writable(bloomfile *f);

/* Whether the body is no longer what was added: a writer, this one or another, was told that its
 * pages may not have reached the disk. */
static inline bool live_in_doubt(const bloomfile *f)
{
    if (atomic_load_explicit(&f->guard->distrust, memory_order_relaxed))
        return true;
    if (header_state_now(f->live) != BLOOMFILE_POISONED)
        return false;
    /* For good: the page may be read anew from disk. */
    guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    return true;
}

/* `r` with what this handle has counted. */
struct record live_add_counts(const struct header *h, struct record r,
                              const struct kernel_change *counted);

/* For the holder of LOCK_RECORDS. Writes `next` over the record that is not in force in *now, with
 * the next sequence, and syncs it. An error of the write leaves all as it was; one of the sync
 * poisons. */
int live_commit(bloomfile *f, struct header *now, struct record next);

/* For the holder of LOCK_RECORDS, after a failed sync; changes *now. Returns `error`. */
int live_poison(bloomfile *f, struct header *now, int error);

/* Records what was counted; the last writer syncs and leaves the file clean. What of that failed. */
int live_leave(bloomfile *f);

/* BLOOMFILE_EREPLACED if the path names another file by now, or none. */
int live_check_path(const bloomfile *f);

#endif
