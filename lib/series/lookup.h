/* SPDX-License-Identifier: MIT
 * Functions that lookups in all layers and adds share. */
#ifndef BLOOMFILE_SERIES_LOOKUP_H
#define BLOOMFILE_SERIES_LOOKUP_H

#include "live/adding.h"
#include "series/layers.h"

/* Of the handle of a series. */
extern const struct doubtful_lookup lookup_in_layers;

/* Finds the layers that have come since; between layers_enter() and _leave() of this thread it must
 * not be called. An error becomes the handle's sticky one. */
int lookup_follow(const bloomfile_filter *f, const struct layers *seen);

/* layers_enter(), with all layers that there are when it is called; left alone after an error. */
int lookup_enter_all(const bloomfile_filter *f, const struct layers **out);

#endif
