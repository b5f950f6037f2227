/* SPDX-License-Identifier: MIT
 * Syncing for the sake of a copy. */
#ifndef BLOOMFILE_SYNC_H
#define BLOOMFILE_SYNC_H

#include "handle/handle.h"

/* To be called before bits are read that sync_source() is to be asked about: what is told since
 * then is told to this process. Errors of opening the file anew, in a child of fork; not if the
 * handle is in doubt, and nothing is expected of it. */
int sync_prepare(const bloomfile *f);

/* All bits that a live handle can see are on disk, or it is told: for a copy of them. A writer
 * commits. BLOOMFILE_EPOISONED, _EUNCLEAN; in a child of fork those of joining; an errno. */
int sync_source(const bloomfile *f);

#endif
