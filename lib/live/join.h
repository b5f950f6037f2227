/* SPDX-License-Identifier: MIT
 * The writers of a live file: joining and leaving them (live.md, section 6). While the file has
 * writers, its record names the boot, so that a later boot sees that the machine died. The last
 * writer to leave removes it, after the body is on disk. The count of writers shows whether a
 * writer was killed, with its counts. */
#ifndef BLOOMFILE_LIVE_JOIN_H
#define BLOOMFILE_LIVE_JOIN_H

#include "live/records.h"

/* Whether a live file may be used, given the header read from the descriptor (live.md, R3 to R6).
 * 0, BLOOMFILE_EUNCLEAN, _ENOBOOT or an errno. */
int join_check_clean(int fd, const struct header *h, bool accept_unclean);

/* Whether the sync that was marked in *h never ended, because its writer is gone (live.md, R5). An
 * error if that cannot be determined. */
int join_find_abandoned(int fd, const struct header *h, bool *abandoned);

/* Makes the handle a writer of its file, f->live->fd: takes the lock and commits a record with the
 * identity of this boot. EBUSY, BLOOMFILE_EUNCLEAN, _ENOBOOT, _ESEALED, _EPOISONED, an errno. */
int join_writers(const bloomfile_filter *f);

/* Drops the lock that join_writers() took. */
void join_unlock_writers(const bloomfile_filter *f);

/* Opens the file again, the first time in a child of fork(). The caller holds session->syncs. */
int join_open_own(const bloomfile_filter *f);

/* Whether a live handle may change the body now: 0 or the error to return. A child of fork() joins
 * at its first call. */
int join_writable(const bloomfile_filter *f);

/* Commits the counts. The last writer syncs and leaves the file clean; another writer syncs only if
 * it finds the mark of an abandoned sync. Returns 0 or the error. */
int join_leave(const bloomfile_filter *f);

/* BLOOMFILE_EREPLACED if the path now names another file or no file. */
int join_check_path(const bloomfile_filter *f);

/* ---- The live part of a handle. */

/* Makes f->live for a mapped header, without a descriptor. Call live_free() even after an error; it
 * closes the descriptor. 0 or an errno. */
int live_new(bloomfile_filter *f, const uint8_t *header);
void live_free(struct live *l);

#endif
