/* SPDX-License-Identifier: MIT
 * Syncing a live body. The kernel reports a failed write once to each open file description, at its
 * next sync; a description opened later gets the report only if no sync got it before. The failed
 * page may then be read again from disk, without its recent keys. So one writer syncs at a time, a
 * writer that gets an error poisons the file before the next sync, and a mark in the record reveals
 * a writer that was killed in between (live.md, L14 to L18). */
#ifndef BLOOMFILE_LIVE_FLUSH_H
#define BLOOMFILE_LIVE_FLUSH_H

#include "format/header.h"
#include "live/records.h"

/* Sets the mark. The caller holds LOCK_SYNCS and LOCK_RECORDS. Errors as live_write(). */
int flush_begin(const bloomfile_filter *f, struct header *now);

/* Syncs the body and the record of *begun. On error distrusts the handle; the caller must then
 * poison the file. */
int flush_body(const bloomfile_filter *f, const struct header *begun);

/* flush_ended() returns the record without the mark. flush_end() commits `next` without the mark;
 * if that fails, it drops the mark. flush_drop_mark() ends a sync without a commit: it tries to
 * clear the mark, unless the file was unclean before. */
struct record flush_ended(struct record r);
int flush_end(const bloomfile_filter *f, struct header *now, struct record next);
void flush_drop_mark(const bloomfile_filter *f, struct header *now);

/* A new watermark. check() is called with LOCK_RECORDS held. If it returns an error, the sync
 * commits without the watermark and returns that error. */
struct flush_mark {
    const uint8_t *watermark;
    int (*check)(const bloomfile_filter *f, const void *context); /* NULL: always allowed */
    const void *context;
};

/* The whole sync of a writer. Holds LOCK_SYNCS throughout, and LOCK_RECORDS while a record is
 * written. mark: the watermark to commit, once the body is on disk; NULL keeps the old one. */
int flush_and_commit(const bloomfile_filter *f, const struct flush_mark *mark);

/* A reader's sync, which commits nothing: ensures that all bits it can see are on disk. Returns 0,
 * BLOOMFILE_EPOISONED, _EUNCLEAN or an errno. */
int flush_as_reader(const bloomfile_filter *f);

/* ---- Sealing in place: the part that concerns the records (doc/format/live.md). */

/* Completes a seal that was interrupted, or whose last write was torn: verifies the body, and
 * writes the record in force over the other record. *h: the header as read; it is read again under
 * the locks. Returns 0; EBUSY if the seal is still in progress; BLOOMFILE_EPAGE, _EBODY; or an
 * errno. */
int seal_recovery_complete(int fd, struct header *h);

#endif
