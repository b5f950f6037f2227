/* SPDX-License-Identifier: MIT
 * Lookups in one image. */
#ifndef BLOOMFILE_LOOKUP_H
#define BLOOMFILE_LOOKUP_H

#include "handle/handle.h"

/* While the guard is not all good. */
bool lookup_in_doubt(const bloomfile *f, uint64_t digest);
size_t lookup_many_in_doubt(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits);

/* Of a live file. */
bool lookup_live(const bloomfile *f, uint64_t digest);
size_t lookup_many_live(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits);

/* Few instructions, so that the processor overlaps the cache misses of many calls. */
static inline bool lookup(const bloomfile *f, uint64_t digest,
                          bool (*in_doubt)(const bloomfile *f, uint64_t digest))
{
    if (!guard_all_good(&f->guard_storage))
        return in_doubt(f, digest);
    if (f->live == NULL)
        return f->contains(&f->view, digest);
    return lookup_live(f, digest);
}

static inline size_t lookup_many(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits,
                                 size_t (*in_doubt)(const bloomfile *f, const uint64_t *digests,
                                                    size_t n, bool *hits))
{
    if (!guard_all_good(&f->guard_storage))
        return in_doubt(f, digests, n, hits);
    if (f->live != NULL)
        return lookup_many_live(f, digests, n, hits);
    return f->kernel->contains_many(&f->view, digests, n, hits);
}

#endif
