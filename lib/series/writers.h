/* SPDX-License-Identifier: MIT
 * The writers of a live series, who are the writers of its newest layer. */
#ifndef BLOOMFILE_SERIES_WRITERS_H
#define BLOOMFILE_SERIES_WRITERS_H

#include "series/layers.h"

/* Like files_find(). If the handle is a writer, also ensures that older layers have the successor
 * bit, and joins the newest layer. */
int writers_find(const bloomfile_filter *f, const struct layers *known, struct layers **out);

/* Returns whether the record in force is clean: no process writes to the layer, and all its keys
 * are on disk. */
bool writers_left_clean(const bloomfile_filter *layer);

/* Joins and leaves each older layer, from number `first` on, that is not clean, and so cleans it.
 * Does not leave a layer that was unclean: it remains unclean until the series is synced. Call it
 * for new layers before the handle uses them: joining waits for a running sync and detects an
 * abandoned sync. Every later failed write is then reported to the handle. */
int writers_clean(const struct layers *l, uint64_t first, unsigned flags);

/* Joins a layer that this process has left or never joined, unless the layer is clean: its writers
 * may have been killed since. Call it before a sync and before leaving the series. */
int writers_join_again(bloomfile_filter *layer);

/* Like sync_finish(), for a layer. It is not an error if a newer generation has taken the name of a
 * layer that has a successor. */
int writers_leave(bloomfile_filter *layer);

#endif
