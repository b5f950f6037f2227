/* SPDX-License-Identifier: MIT
 * The commit records of a live file (live.md, section 6). There are two. A commit overwrites the
 * record that is not in force, and only after the record in force is on disk: so a crash at any
 * moment leaves a whole record. A poisoned state in either record counts: lookups read both after
 * every "no". */
#ifndef BLOOMFILE_LIVE_RECORDS_H
#define BLOOMFILE_LIVE_RECORDS_H

#include "format/bytes.h"
#include "format/header.h"
#include "live/handle.h"
#include "os/file.h"

/* The last sequence of a live record: poisoning takes two more. */
#define LIVE_LAST_SEQUENCE (HEADER_SEALED_SEQUENCE - 3)

/* Decodes the mapped header again, with the record that is in force now. An error if it is not a
 * valid header with the same static part; BLOOMFILE_ETRUNCATED if it cannot be read. */
int live_load(const bloomfile_filter *f, struct header *now);

/* The same before a commit: BLOOMFILE_EPOISONED or _ESEALED unless the file is live. */
int live_load_to_commit(const bloomfile_filter *f, struct header *now);

/* Whether the body may lack added keys, because a process saw a failed write and poisoned the file.
 * Call it after the bits have said no (R8). Between a read of the state and a later read of the
 * bits, the file could be poisoned and a page be read again from disk, without its keys. */
static inline bool live_in_doubt(const bloomfile_filter *f)
{
    shared_order();
    if (guard_distrusted(f->guard))
        return true;
    if (!shared_is32(f->state[0], BLOOMFILE_STATE_POISONED) &&
        !shared_is32(f->state[1], BLOOMFILE_STATE_POISONED))
        return false;
    /* Permanently: a page may stay in memory as it was read from disk. */
    guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    return true;
}

/* Whether the layer has a successor. Call it after the bits have said no, or before adding. */
static inline bool live_succeeded(const bloomfile_filter *f)
{
    shared_order();
    return header_has_successor(f->live->header);
}

/* The header of a sealed or live image, with the record in force and this handle's counts. After an
 * error the record is that of the opening, plus the counts. */
int live_header_now(const bloomfile_filter *f, struct header *h);

/* Loads the record in force, and adds all counts of this handle, even those that a commit is
 * writing. After an error only the counts are added to *now. */
int live_load_counted(const bloomfile_filter *f, struct header *now);

/* The same record, for callers that count often and hold `asking`: decodes the header only if a
 * record was written since the last call. */
int live_count(const bloomfile_filter *f, struct record *counted);

/* `r` plus the counts. */
struct record live_add_counts(const struct header *h, struct record r,
                              const struct kernel_change *counted);

/* ---- For a writer that holds LOCK_RECORDS. now: from live_load_to_commit(). */

/* Syncs the record in force unless it is on disk. Then writes `next` over the other record, with
 * the next sequence, and puts it into *now. A write error changes nothing; a sync error poisons. */
int live_write(const bloomfile_filter *f, struct header *now, struct record next);

/* Makes sure that the record in force is on disk. */
int live_make_durable(const bloomfile_filter *f);

/* live_write(), and syncs it. */
int live_commit(const bloomfile_filter *f, struct header *now, struct record next);

/* Poisons the file after a failed sync. Changes *now. Returns `error`. */
int live_poison(const bloomfile_filter *f, struct header *now, int error);

/* The same for a reader without LOCK_RECORDS, by the descriptor of a protocol_lock, whose end drops
 * it. If that descriptor is not for writing, only the handle is in doubt. */
int live_poison_as_reader(const bloomfile_filter *f, int fd, int error);

/* ---- Writing one commit record of a mapped image. */

/* Writes *r, a record for the static header of *h, to a slot. EBADF if `fd` does not have the file
 * `own`. The reserved bytes are those of slot `kept` of the mapped `image`. 0 or an errno. */
int record_write(int fd, const struct file_identity *own, const struct header *h,
                 const struct record *r, const uint8_t *image, unsigned kept, unsigned slot);

#endif
