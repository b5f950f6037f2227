/* SPDX-License-Identifier: MIT
 * Syncing of one image, by a writer or before it is copied. */
#ifndef BLOOMFILE_LIVE_SYNC_H
#define BLOOMFILE_LIVE_SYNC_H

#include "live/flush.h"
#include "live/handle.h"

/* Call before reading bits that sync_source() is to guarantee: from here on the kernel reports
 * failed writes to this process. In a child of fork(), errors of opening the file again. */
int sync_prepare(const bloomfile_filter *f);

/* Makes sure, for a copy, that all bits that a live handle can see are on disk. A writer commits.
 * BLOOMFILE_EPOISONED, _EUNCLEAN, an errno; in a child of fork() also those of reopening the
 * file. */
int sync_source(const bloomfile_filter *f);

/* The same. A writer commits a new watermark; NULL: it stays. */
int sync_with(const bloomfile_filter *f, const struct flush_mark *mark);

/* As bloomfile_sync() and _finish() say. */
int sync_all(bloomfile_filter *f, const uint8_t *watermark);
int sync_finish(bloomfile_filter *f);

#endif
