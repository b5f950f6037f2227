/* SPDX-License-Identifier: MIT
 * The writers of a live series, which are those of its newest layer. */
#ifndef BLOOMFILE_SERIES_WRITERS_H
#define BLOOMFILE_SERIES_WRITERS_H

#include "series/layers.h"

/* As files_find(); joins the newest layer, if the handle writes, once all before it are marked. */
int writers_find(const bloomfile_filter *f, const struct layers *known, struct layers **out);

/* At opening: marks the older layers clean that are not. */
int writers_clean(const struct layers *l, unsigned flags);

/* Ends writing to a layer, as sync_finish() does. That a generation with a successor has lost its
 * name to a newer one is no error. */
int writers_leave(bloomfile_filter *layer);

#endif
