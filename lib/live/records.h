/* SPDX-License-Identifier: MIT
 * The two commit records of a live file (live.md, section 6). A commit overwrites the record that
 * is not in force, and only once the record in force is on disk. So a crash at any moment leaves
 * one whole record. The file is poisoned if either record is; lookups read both states after every
 * "no". */
#ifndef BLOOMFILE_LIVE_RECORDS_H
#define BLOOMFILE_LIVE_RECORDS_H

#include "format/bytes.h"
#include "format/header.h"
#include "live/handle.h"
#include "os/file.h"

/* The last sequence of a live record: poisoning takes two more. */
#define LIVE_LAST_SEQUENCE (HEADER_SEALED_SEQUENCE - 3)

/* Decodes the mapped header again, with the record that is in force now. Returns
 * BLOOMFILE_ERECORD or _ESTATE, or _ECHANGED if the static part has changed or cannot be read. */
int live_load(const bloomfile_filter *f, struct header *now);

/* live_load() before a commit. Returns BLOOMFILE_EPOISONED or _ESEALED if the file is not live;
 * BLOOMFILE_ECHANGED if it is poisoned and this handle has found a copy. */
int live_load_to_commit(const bloomfile_filter *f, struct header *now);

/* Returns whether the body may lack added keys, because a write failed and a process poisoned the
 * file. Call it after the bits were found clear (R8). In the other order, the file could be
 * poisoned after the state was read, and a page be read again from disk, without its keys, before
 * its bits are read. */
static inline bool live_in_doubt(const bloomfile_filter *f)
{
    shared_order();
    if (guard_distrusted(f->guard))
        return true;
    if (!shared_is32(f->state[0], BLOOMFILE_STATE_POISONED) &&
        !shared_is32(f->state[1], BLOOMFILE_STATE_POISONED))
        return false;
    /* Permanent: the page that lacks keys may stay in memory. */
    guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    return true;
}

/* Returns whether the layer has a successor. Call it after the bits were found clear, or before
 * adding. */
static inline bool live_succeeded(const bloomfile_filter *f)
{
    shared_order();
    return header_has_successor(f->live->header);
}

/* Gets the header of a sealed or live image, with the record in force and the counts of this
 * handle. After an error the record is that of the opening, plus the counts. */
int live_header_now(const bloomfile_filter *f, struct header *h);

/* Loads the record in force and adds all counts of this handle, including counts that a commit is
 * writing now. After an error only the counts are added to *now. */
int live_load_counted(const bloomfile_filter *f, struct header *now);

/* live_load_counted() for callers that count often and hold the mutex `room_lock`: decodes the
 * header only if a record was written since the last call. */
int live_count(const bloomfile_filter *f, struct record *counted);

/* Returns `r` plus the counts. */
struct record live_add_counts(const struct header *h, struct record r,
                              const struct kernel_change *counted);

/* ---- For a writer that holds LOCK_RECORDS. now: from live_load_to_commit(). */

/* Syncs the record in force unless it is on disk. Then writes `next` over the other record, with
 * the next sequence, and stores it in *now. A failed write changes nothing; a failed sync poisons
 * the file. BLOOMFILE_ECHANGED: another file was copied over it since *now was read. If that is
 * found after the write, live_poison_copy(). */
int live_write(const bloomfile_filter *f, struct header *now, struct record next);

/* Returns whether another file was copied over this one since *now was read: the record that is in
 * force in *now has another sequence. A record written then would hide the copy from the other
 * processes, because the sequence in force would not be lower. */
bool live_was_copied_over(const bloomfile_filter *f, const struct header *now);

/* Before a write: returns BLOOMFILE_ECHANGED if live_was_copied_over(). */
int live_check_kept(const bloomfile_filter *f, const struct header *now);

/* After a write over a copy: poisons the copy, with another identity, so that every handle returns
 * BLOOMFILE_ECHANGED. Not if its static header is another. Changes *now. Returns
 * BLOOMFILE_ECHANGED. */
int live_poison_copy(const bloomfile_filter *f, struct header *now);

/* Makes sure that the record in force is on disk. */
int live_make_durable(const bloomfile_filter *f);

/* live_write(), followed by a sync of the new record. */
int live_commit(const bloomfile_filter *f, struct header *now, struct record next);

/* Poisons the file after a failed sync. Changes *now. Returns `error`. */
int live_poison(const bloomfile_filter *f, struct header *now, int error);

/* live_poison() for a reader. Takes LOCK_RECORDS through the descriptor of a protocol_lock;
 * protocol_lock_end() releases it. If that descriptor is not writable, only this handle is
 * distrusted. */
int live_poison_as_reader(const bloomfile_filter *f, int fd, int error);

/* ---- Writing one commit record of a mapped image. */

/* Writes *r, a record for the static header of *h, to a slot. Keeps the reserved bytes of slot
 * `kept` of the mapped `image`. Returns 0 or an errno; EBADF if `fd` is not the file `own`. */
int record_write(int fd, const struct file_identity *own, const struct header *h,
                 const struct record *r, const uint8_t *image, unsigned kept, unsigned slot);

#endif
