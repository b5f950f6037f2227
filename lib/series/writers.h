/* SPDX-License-Identifier: MIT
 * The writers of a live series: those of its newest layer. */
#ifndef BLOOMFILE_SERIES_WRITERS_H
#define BLOOMFILE_SERIES_WRITERS_H

#include "series/layers.h"

/* As files_find(). If the handle writes, makes sure that older layers have the successor bit, then
 * joins the newest layer. */
int writers_find(const bloomfile_filter *f, const struct layers *known, struct layers **out);

/* At opening: joins and leaves each older layer that is not clean, which leaves it clean. */
int writers_clean(const struct layers *l, unsigned flags);

/* Leaves a layer, as sync_finish(). It is not an error if the layer has a successor and a newer
 * generation has taken its name. */
int writers_leave(bloomfile_filter *layer);

#endif
