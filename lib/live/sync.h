/* SPDX-License-Identifier: MIT
 * Syncing a single image, for a writer or before a copy. */
#ifndef BLOOMFILE_LIVE_SYNC_H
#define BLOOMFILE_LIVE_SYNC_H

#include "live/flush.h"
#include "live/handle.h"

/* Call this before reading the bits that sync_source() is to guarantee: from here on the kernel
 * reports failed writes to this process. Returns 0 or, in a child of fork(), an error of opening
 * the file again. */
int sync_prepare(const bloomfile_filter *f);

/* Ensures, for a copy, that all bits that a live handle can see are on disk. A writer commits, but
 * an unclean file remains unclean.
 * Returns 0, BLOOMFILE_EPOISONED, _EUNCLEAN or an errno; in a child of fork() also errors of
 * opening the file again. */
int sync_source(const bloomfile_filter *f);

/* A sync with a new watermark, which a writer commits; NULL keeps the old one. A file that was
 * unclean becomes clean. */
int sync_with(const bloomfile_filter *f, const struct flush_mark *mark);

/* bloomfile_sync() and bloomfile_finish() for a single image. */
int sync_all(bloomfile_filter *f, const uint8_t *watermark);
int sync_finish(bloomfile_filter *f);

#endif
