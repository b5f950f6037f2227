/* SPDX-License-Identifier: MIT
 * Included ahead of a test: its lookups go through pins (bloomfile_inline.h), which must answer as
 * the library does. */
#ifndef BLOOMFILE_THROUGH_PINS_H
#define BLOOMFILE_THROUGH_PINS_H

#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <stdlib.h>

static inline struct bloomfile_pinned through_pin(const bloomfile *f)
{
    struct bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
    if (bloomfile_pin(f, &pin) != 0)
        abort();
    return pin;
}

static inline bool through_contains_digest(const bloomfile *f, bloomfile_digest digest)
{
    const struct bloomfile_pinned pin = through_pin(f);
    return bloomfile_pinned_contains_digest(&pin, digest);
}

static inline size_t through_contains_digests(const bloomfile *f, const bloomfile_digest *digests,
                                              size_t n, bool *hits)
{
    const struct bloomfile_pinned pin = through_pin(f);
    size_t found = 0;
    for (size_t start = 0; start < n; start += 64)
        found += bloomfile_pinned_contains_digests(&pin, digests + start,
                                                   n - start < 64 ? n - start : 64,
                                                   hits != NULL ? hits + start : NULL);
    return found;
}

/* Of an application's hash a pin knows digests only. */
static inline bool through_contains(const bloomfile *f, const void *key, size_t size)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    if (bloomfile_get_info(f, &info) != 0)
        abort();
    return info.hash_id != 1
               ? bloomfile_contains(f, key, size)
               : through_contains_digest(f, bloomfile_hash(bloomfile_seed(f), key, size));
}

#define bloomfile_contains         through_contains
#define bloomfile_contains_digest  through_contains_digest
#define bloomfile_contains_digests through_contains_digests

#endif
