/* SPDX-License-Identifier: MIT
 *
 * The records of a live file: reading them while others commit, committing, poisoning
 * (doc/format/live.md).
 */
#ifndef BLOOMFILE_LIVE_RECORDS_H
#define BLOOMFILE_LIVE_RECORDS_H

#include "format/bytes.h"
#include "format/header.h"
#include "live/handle.h"
#include "os/file.h"

/* The last sequence of a live record; two more are left to poison with. */
#define LIVE_LAST_SEQUENCE (HEADER_SEALED_SEQUENCE - 3)

/* Decodes the mapped header again, for the commit record now in force. An error if it is not a
 * valid header with the same static part; BLOOMFILE_ETRUNCATED if it is gone. */
int live_load(const bloomfile_filter *f, struct header *now);

/* The same before a commit: BLOOMFILE_EPOISONED or _ESEALED unless the file is live. */
int live_load_to_commit(const bloomfile_filter *f, struct header *now);

/* Whether the body may lack what was added, because some writer learned that pages did not reach
 * the disk. Ask after the bits have said no: whoever sees a page that was read again since then
 * will notice. */
static inline bool live_in_doubt(const bloomfile_filter *f)
{
    shared_order();
    if (guard_distrusted(f->guard))
        return true;
    if (!shared_is32(f->state[0], BLOOMFILE_STATE_POISONED) &&
        !shared_is32(f->state[1], BLOOMFILE_STATE_POISONED))
        return false;
    /* For good: the page may be read anew from disk. */
    guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    return true;
}

/* Whether the layer is not the newest any more. Ask after the bits have said no, or before adding.
 */
static inline bool live_succeeded(const bloomfile_filter *f)
{
    shared_order();
    return header_has_successor(f->live->header);
}

/* The header of a sealed or live image with the record in force and what this handle has counted.
 * After an error the record is that of the opening, but for those counts. */
int live_header_now(const bloomfile_filter *f, struct header *h);

/* Decodes the header as live_load() does, and adds to its record what this handle has counted, even
 * while some of that is on its way to the record. After an error *now is unchanged but for that. */
int live_load_counted(const bloomfile_filter *f, struct header *now);

/* The same record, for one who counts often and holds `asking`: decodes the header only if a record
 * was written since the last call. */
int live_count(const bloomfile_filter *f, struct record *counted);

/* `r` plus what this handle has counted. */
struct record live_add_counts(const struct header *h, struct record r,
                              const struct kernel_change *counted);

/* ---- for a writer that holds LOCK_RECORDS; now: what live_load_to_commit() said */

/* Once the record in force is on disk, writes `next` over the other one, with the next sequence,
 * and makes it the record of *now. A write error changes nothing; a sync error poisons. */
int live_write(const bloomfile_filter *f, struct header *now, struct record next);

/* Sees to it that the record in force is on disk. */
int live_make_durable(const bloomfile_filter *f);

/* live_write(), and syncs it. */
int live_commit(const bloomfile_filter *f, struct header *now, struct record next);

/* After a failed sync; changes *now. Returns `error`. */
int live_poison(const bloomfile_filter *f, struct header *now, int error);

/* The same for a reader that does not hold the lock, through the descriptor of a protocol_lock,
 * whose end lets go of it; if that is not for writing, only the handle is in doubt. */
int live_poison_as_reader(const bloomfile_filter *f, int fd, int error);

/* ---- Writing one commit record of a mapped image. */

/* Writes *r, a record for the static header of *h, to a slot; EBADF if the descriptor has another
 * file than `own`. `image` is mapped; the bytes that the record reserves are those of slot `kept`
 * there. 0 or an errno. */
int record_write(int fd, const struct file_identity *own, const struct header *h,
                 const struct record *r, const uint8_t *image, unsigned kept, unsigned slot);

#endif
