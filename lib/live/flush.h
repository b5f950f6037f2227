/* SPDX-License-Identifier: MIT
 * Writing of a live body to disk. The kernel reports a failed write once per opening of the file,
 * at the next sync, and to later openings only if nobody has been told. So only one writer syncs at
 * a time, whoever is told poisons before the next one syncs, and a mark in the record betrays one
 * that was killed in between (doc/format/live.md). */
#ifndef BLOOMFILE_LIVE_FLUSH_H
#define BLOOMFILE_LIVE_FLUSH_H

#include "format/header.h"
#include "live/records.h"

/* For a writer that holds LOCK_SYNCS and LOCK_RECORDS. Puts the mark into the record. The same
 * errors as live_write(). */
int flush_begin(const bloomfile_filter *f, struct header *now);

/* Syncs the body, and the record of *begun. After an error the handle is in doubt, and the caller
 * poisons. */
int flush_body(const bloomfile_filter *f, const struct header *begun);

/* flush_ended(): the record of a sync that has ended. flush_end(): commits `next` as such, or if
 * that cannot be written, at least the end. */
struct record flush_ended(struct record r);
int flush_end(const bloomfile_filter *f, struct header *now, struct record next);

/* A new watermark, and whether the file may have it: check() is called with LOCK_RECORDS held. If
 * it returns an error, the sync commits without the watermark and returns that error. */
struct flush_mark {
    const uint8_t *watermark;
    int (*check)(const bloomfile_filter *f, const void *context); /* NULL: it may */
    const void *context;
};

/* A writer's whole sync. Takes and drops LOCK_SYNCS and, around each commit, LOCK_RECORDS.
 * mark: for the record that says that the body is on disk; NULL: the watermark stays. */
int flush_and_commit(const bloomfile_filter *f, const struct flush_mark *mark);

/* The same for a reader, which commits nothing: whether all bits that it can see are on disk.
 * BLOOMFILE_EPOISONED, _EUNCLEAN; an errno. */
int flush_as_reader(const bloomfile_filter *f);

/* ---- Sealing in place, the part that concerns the records (doc/format/live.md). */

/* Ends a sealing that was cut off, or whose last write was torn: verifies the body, and writes the
 * record in force over the other one. EBUSY while it is still under way; BLOOMFILE_EPAGE, _EBODY;
 * an errno. *h is the header as it was read. */
int seal_recovery_complete(int fd, struct header *h);

#endif
