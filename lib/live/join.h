/* SPDX-License-Identifier: MIT
 * The writers of a live file: joining and leaving them (doc/format/live.md). */
#ifndef BLOOMFILE_LIVE_JOIN_H
#define BLOOMFILE_LIVE_JOIN_H

#include "live/records.h"

/* Whether a live file may be used, given the header read from the descriptor. 0,
 * BLOOMFILE_EUNCLEAN, _ENOBOOT or an errno. */
int join_check_clean(int fd, const struct header *h, bool accept_unclean);

/* Whether a sync that had begun when *h was read never ended. An error if that cannot be found
 * out. */
int join_find_abandoned(int fd, const struct header *h, bool *abandoned);

/* Makes the handle one of the file's writers, through f->live->fd: takes the lock and commits a
 * record with this boot's identity. EBUSY, BLOOMFILE_EUNCLEAN, _ENOBOOT, _ESEALED, _EPOISONED, an
 * errno. */
int join_writers(const bloomfile_filter *f);

/* Drops the lock that join_writers() took. */
void join_unlock_writers(const bloomfile_filter *f);

/* In a child of fork(), the first time: opens the file anew. Holds session->syncs. */
int join_open_own(const bloomfile_filter *f);

/* Whether a live handle may change the body now: 0 or the error to return. A child of fork() joins
 * at its first call. */
int join_writable(const bloomfile_filter *f);

/* Records what was counted. The last writer syncs and leaves the file clean; any other syncs if it
 * finds the mark of a sync that never ended. Returns what failed. */
int join_leave(const bloomfile_filter *f);

/* BLOOMFILE_EREPLACED if the path names another file by now, or none. */
int join_check_path(const bloomfile_filter *f);

/* ---- The live part of a handle. */

/* Makes f->live for a mapped header, without a descriptor. live_free() is due after an error, too,
 * and closes the descriptor. 0 or an errno. */
int live_new(bloomfile_filter *f, const uint8_t *header);
void live_free(struct live *l);

#endif
