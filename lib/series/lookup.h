/* SPDX-License-Identifier: MIT
 * Functions that lookups in all layers and adds share. */
#ifndef BLOOMFILE_SERIES_LOOKUP_H
#define BLOOMFILE_SERIES_LOOKUP_H

#include "live/adding.h"
#include "series/layers.h"

/* Chooses how a new handle of a series looks up. named: an application's hash is known. */
void lookup_start_layers(bloomfile_filter *f, bool named);

/* Finds the layers that have come since; between layers_enter() and _leave() of this thread it must
 * not be called. An error becomes the handle's sticky one. */
int lookup_follow(const bloomfile_filter *f, const struct layers *seen);

/* layers_enter(), with all layers that there are when it is called; left alone after an error. */
int lookup_enter_all(const bloomfile_filter *f, const struct layers **out);

#endif
