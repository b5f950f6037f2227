/* SPDX-License-Identifier: MIT
 * Syncing for the sake of a copy. */
#ifndef BLOOMFILE_SYNC_H
#define BLOOMFILE_SYNC_H

#include "handle/handle.h"

/* All bits that a live handle can see are on disk, or it is told: for a copy of them. A writer
 * commits. BLOOMFILE_EPOISONED, _EUNCLEAN; in a child of fork those of joining; an errno. */
int sync_source(const bloomfile *f);

#endif
