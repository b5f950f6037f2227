/* SPDX-License-Identifier: MIT
 * Lookups in a slice of a filter (format-spec.md, section 23): "maybe" for what belongs to another
 * slice. */
#ifndef BLOOMFILE_SLICE_H
#define BLOOMFILE_SLICE_H

#include "handle/handle.h"

bool slice_contains(const bloomfile *f, uint64_t digest);

/* hits may be NULL. Returns the number of hits. */
size_t slice_contains_many(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits);

#endif
