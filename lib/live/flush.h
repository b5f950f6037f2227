/* SPDX-License-Identifier: MIT
 * Syncs of a live body. The kernel reports a failed write once per open file description, at its
 * next sync; a description opened later gets the report only if no sync got it before. The failed
 * page may be read again from disk, without its keys. So one writer syncs at a time; a writer that
 * sees a failure poisons the file before the next sync; and a mark in the record reveals a writer
 * killed in between (live.md, L14 to L18). */
#ifndef BLOOMFILE_LIVE_FLUSH_H
#define BLOOMFILE_LIVE_FLUSH_H

#include "format/header.h"
#include "live/records.h"

/* Sets the mark. The caller holds LOCK_SYNCS and LOCK_RECORDS. Errors as live_write(). */
int flush_begin(const bloomfile_filter *f, struct header *now);

/* Syncs the body and the record of *begun. On error the handle is in doubt; the caller must
 * poison. */
int flush_body(const bloomfile_filter *f, const struct header *begun);

/* flush_ended(): the record without the mark. flush_end(): commits `next` without the mark; if that
 * cannot be written, tries to clear at least the mark. */
struct record flush_ended(struct record r);
int flush_end(const bloomfile_filter *f, struct header *now, struct record next);

/* A new watermark. check() is called with LOCK_RECORDS held. If it returns an error, the sync
 * commits without the watermark and returns that error. */
struct flush_mark {
    const uint8_t *watermark;
    int (*check)(const bloomfile_filter *f, const void *context); /* NULL: always allowed */
    const void *context;
};

/* A writer's whole sync. Takes and drops LOCK_SYNCS and, around each commit, LOCK_RECORDS. mark:
 * goes into the record that says that the body is on disk; NULL: the watermark stays. */
int flush_and_commit(const bloomfile_filter *f, const struct flush_mark *mark);

/* A reader's sync, which commits nothing: makes sure that all bits it can see are on disk.
 * BLOOMFILE_EPOISONED, _EUNCLEAN; an errno. */
int flush_as_reader(const bloomfile_filter *f);

/* ---- Sealing in place, the part that concerns the records (doc/format/live.md). */

/* Completes a sealing that was cut off, or whose last write was torn: verifies the body, and writes
 * the record in force over the other record. EBUSY while the sealing goes on; BLOOMFILE_EPAGE,
 * _EBODY; an errno. *h: the header as read; it is read again under the locks. */
int seal_recovery_complete(int fd, struct header *h);

#endif
