/* SPDX-License-Identifier: MIT
 * Creation of the next layer of a series. */
#ifndef BLOOMFILE_SUCCESSION_H
#define BLOOMFILE_SUCCESSION_H

#include "series/layers.h"

/* The header of layer 0. The parameters are checked. BLOOMFILE_EVALUE and those of sizing. */
int succession_first(const struct bloomfile_params *given, uint64_t identity, struct header *h);

/* Whether the time of a generation is up, or its beginning lies ahead of the clock. Takes no system
 * call. */
bool succession_is_due(const bloomfile_filter *layer);

/* Gives the newest layer of a set a successor, unless it has one: in files, which the caller then
 * finds. 0, or why that cannot be. */
int succession(const bloomfile_filter *f, const struct layers *l);

/* Sees to it that all layers before the newest one are marked. */
int succession_settle(const bloomfile_filter *f, const struct layers *l);

#endif
