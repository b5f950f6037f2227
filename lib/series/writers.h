/* SPDX-License-Identifier: MIT
 * The writers of a live series, who are the writers of its newest layer. */
#ifndef BLOOMFILE_SERIES_WRITERS_H
#define BLOOMFILE_SERIES_WRITERS_H

#include "series/layers.h"

/* Like files_find(). If the handle is a writer, also ensures that older layers have the successor
 * bit, and joins the newest layer. */
int writers_find(const bloomfile_filter *f, const struct layers *known, struct layers **out);

/* Joins and leaves each older layer that is not clean, and so cleans it. Does not leave a layer
 * that was unclean: it remains unclean until the series is synced. Called at opening. */
int writers_clean(const struct layers *l, unsigned flags);

/* Like sync_finish(), for a layer. It is not an error if a newer generation has taken the name of a
 * layer that has a successor. */
int writers_leave(bloomfile_filter *layer);

#endif
