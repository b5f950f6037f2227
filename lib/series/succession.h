/* SPDX-License-Identifier: MIT
 * Making the next layer of a series. */
#ifndef BLOOMFILE_SUCCESSION_H
#define BLOOMFILE_SUCCESSION_H

#include "series/layers.h"

/* Makes the header of layer 0, from parameters that were checked. Returns 0, BLOOMFILE_EVALUE, or
 * an error of sizing. */
int succession_first(const struct bloomfile_params *given, uint64_t identity, struct header *h);

/* Returns whether the period of a generation is over, or the clock was ahead when it began. Makes
 * no system call. */
bool succession_is_due(const bloomfile_filter *layer);

/* Makes a successor of the newest layer of a set, unless it has one. In files, the caller then
 * opens it by lookup_follow(). Returns 0, or the error because of which it cannot be made. */
int succession(const bloomfile_filter *f, const struct layers *l);

/* Ensures that the last layer but one has the successor bit, as older layers do: the process that
 * made the newest layer may have been killed before it set the bit. */
int succession_settle(const bloomfile_filter *f, const struct layers *l);

#endif
