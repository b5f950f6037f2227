/* SPDX-License-Identifier: MIT
 * Creation of the next layer of a series. */
#ifndef BLOOMFILE_SUCCESSION_H
#define BLOOMFILE_SUCCESSION_H

#include "series/layers.h"

/* The header of layer 0. The parameters are checked. BLOOMFILE_EVALUE and those of sizing. */
int succession_first(const struct bloomfile_params *given, uint64_t identity, struct header *h);

/* Whether a generation's time is up, or its beginning is ahead of the clock. No system call. */
bool succession_is_due(const bloomfile_filter *layer);

/* Gives the newest layer of a set a successor, unless it has a successor. In files, the caller then
 * finds it (lookup_follow()). 0, or the reason why it cannot be made. */
int succession(const bloomfile_filter *f, const struct layers *l);

/* Makes sure that the last layer but one has the successor bit, as older layers do: the process
 * that made the newest layer may have been killed before it set the bit. */
int succession_settle(const bloomfile_filter *f, const struct layers *l);

#endif
