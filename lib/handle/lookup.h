/* SPDX-License-Identifier: MIT
 * Lookups in one image. */
#ifndef BLOOMFILE_LOOKUP_H
#define BLOOMFILE_LOOKUP_H

#include "handle/handle.h"

/* The guard has doubts: of a slice or a layer, more than its permanent doubt. */
bool lookup_in_doubt(const bloomfile *f, uint64_t digest);
size_t lookup_many_in_doubt(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits);

/* Of a live file. */
bool lookup_live(const bloomfile *f, uint64_t digest);
size_t lookup_many_live(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits);

#endif
