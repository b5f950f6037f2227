/* SPDX-License-Identifier: MIT
 * Lookups while some pages are not known to be good: each page is checked before the first answer
 * that relies on it, and bits and counters on a bad page count as set (format-spec.md, section
 * 12). */
#ifndef BLOOMFILE_DOUBT_H
#define BLOOMFILE_DOUBT_H

#include "handle/handle.h"

bool doubt_contains(const bloomfile *f, uint64_t digest);

/* hits may be NULL in each. Returns the number of hits. */
size_t doubt_contains_many(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits);

/* "Maybe" to all n. Returns n. */
size_t doubt_all_maybe(size_t n, bool *hits);

#endif
