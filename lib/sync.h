/* SPDX-License-Identifier: MIT */
#ifndef BLOOMFILE_SYNC_H
#define BLOOMFILE_SYNC_H

#include "handle.h"

/* All bits that a live handle can see are on disk, or it is told: for a copy of them. A writer
 * commits. BLOOMFILE_EPOISONED, _EUNCLEAN; in a child of fork those of joining; an errno. */
int sync_source(const bloomfile *f);

#endif
