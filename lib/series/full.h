/* SPDX-License-Identifier: MIT
 * When the newest layer is to have a successor. */
#ifndef BLOOMFILE_FULL_H
#define BLOOMFILE_FULL_H

#include "handle/handle.h"

/* How many new keys this process may add to a layer before it asks again; 0: it is full, or its
 * time is up. All writers together get half a per cent of the layer, which may be too much. */
uint64_t full_room(const bloomfile *f);

/* Whether the time of a generation is up. Takes no system call. */
bool full_of_time(const bloomfile *f);

#endif
