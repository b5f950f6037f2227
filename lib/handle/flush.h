/* SPDX-License-Identifier: MIT
 *
 * Writing a live body to disk. The kernel tells of a page that it could not write once for each
 * opening of the file, by the next sync, and to later openings only if nobody was told before. So
 * one at a time syncs, whoever is told poisons before the next one, and a mark in the record tells
 * of one that was killed in between (format-spec.md, section 13).
 */
#ifndef BLOOMFILE_FLUSH_H
#define BLOOMFILE_FLUSH_H

#include "handle/live.h"

/* For a writer that holds LOCK_SYNCS and LOCK_RECORDS. Puts the mark into the record. The same
 * errors as live_write(). */
int flush_begin(const bloomfile *f, struct header *now);

/* Syncs the body, and the record of *begun. After an error the handle is in doubt, and the caller
 * poisons. */
int flush_body(const bloomfile *f, const struct header *begun);

/* The record of a sync that has ended; and commits it, or if it cannot be written at least that. */
struct record flush_ended(struct record r);
int flush_end(const bloomfile *f, struct header *now, struct record next);

/* Takes and drops LOCK_SYNCS and, for the time that commits need, LOCK_RECORDS: all of a sync.
 * For a writer. */
int flush_and_commit(const bloomfile *f);

/* The same for a handle for reading, which commits nothing: whether all bits that it can see are on
 * disk. BLOOMFILE_EPOISONED, _EUNCLEAN; an errno. */
int flush_as_reader(const bloomfile *f);

#endif
