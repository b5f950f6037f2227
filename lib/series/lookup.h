/* SPDX-License-Identifier: MIT
 * Lookups in all layers of a series, and functions that lookups share with adds. */
#ifndef BLOOMFILE_SERIES_LOOKUP_H
#define BLOOMFILE_SERIES_LOOKUP_H

#include "live/adding.h"
#include "series/layers.h"

/* Sets the lookup functions of a new handle of a series. named: the caller named the application's
 * hash. */
void lookup_start_layers(bloomfile_filter *f, bool named);

/* Finds the layers added after the set `seen`. The calling thread must not be between
 * layers_enter() and layers_leave(). An error becomes the handle's sticky error. */
int lookup_follow(const bloomfile_filter *f, const struct layers *seen);

/* Repeats the late adds whose repetition failed (live.md, S10). Call it first in each operation
 * that promises that added keys are kept. Returns 0, or the error because of which it failed
 * again. */
int lookup_add_late(const bloomfile_filter *f);

/* layers_enter() with all layers that exist now. After an error, no set is entered. */
int lookup_enter_all(const bloomfile_filter *f, const struct layers **out);

#endif
