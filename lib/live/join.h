/* SPDX-License-Identifier: MIT
 * Joining and leaving the writers of a live file (live.md, section 6). While the file has writers,
 * its record contains the boot_id, so that a crash of the machine is detected after the next boot.
 * The last writer to leave clears it, once the body is on disk. The record also counts the writers:
 * if the count is above the number that leave, a writer was killed, and its counts are lost. */
#ifndef BLOOMFILE_LIVE_JOIN_H
#define BLOOMFILE_LIVE_JOIN_H

#include "live/records.h"

/* Checks whether a live file may be used, given the header read from the descriptor (live.md, R3 to
 * R6). Returns 0, BLOOMFILE_EUNCLEAN, _ENOBOOT or an errno. */
int join_check_clean(int fd, const struct header *h, bool accept_unclean);

/* Sets *abandoned to whether the writer whose sync is marked in *h died during it (live.md, R5).
 * Returns 0, or an error if that cannot be determined. */
int join_find_abandoned(int fd, const struct header *h, bool *abandoned);

/* Makes the handle a writer of its file, f->live->fd: takes the lock, and commits a record with the
 * boot_id. Returns 0, EBUSY, BLOOMFILE_EUNCLEAN, _ENOBOOT, _ESEALED, _EPOISONED or an errno. */
int join_writers(const bloomfile_filter *f);

/* Releases the lock that join_writers() took. */
void join_unlock_writers(const bloomfile_filter *f);

/* Opens the file again, the first time in a child of fork(). The caller holds session->syncs. */
int join_open_own(const bloomfile_filter *f);

/* Checks that a live handle may change the body. Returns 0, or the error that the caller must
 * return. A child of fork() joins the writers at its first call. */
int join_writable(const bloomfile_filter *f);

/* Commits the counts and leaves the writers. The last writer also syncs, and leaves the file clean.
 * Any other writer syncs only if it finds the mark of an abandoned sync. Returns 0 or an error. */
int join_leave(const bloomfile_filter *f);

/* Leaves the writers without a report. If the file was unclean and has not been synced since, it
 * remains so, as if this writer had been killed. */
void join_close(const bloomfile_filter *f);

/* Returns BLOOMFILE_EREPLACED if the path now names another file or no file. */
int join_check_path(const bloomfile_filter *f);

/* ---- The live part of a handle. */

/* Allocates f->live for a mapped header; the caller sets its descriptor. Call live_free() even
 * after an error; it closes the descriptor. Returns 0 or an errno. */
int live_new(bloomfile_filter *f, const uint8_t *header);
void live_free(struct live *l);

#endif
