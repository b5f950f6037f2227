/* SPDX-License-Identifier: MIT
 * What is not the common case. */
#include "handle/lookup.h"

#include "handle/app_hash.h"
#include "handle/doubt.h"
#include "handle/live.h"
#include "handle/slice.h"

bool lookup_in_doubt(const bloomfile *f, uint64_t digest)
{
    if (f->unnamed)
        return app_hash_missed(f);
    return header_is_slice(&f->header) ? slice_contains(f, digest) : doubt_contains(f, digest);
}

size_t lookup_many_in_doubt(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    if (f->unnamed)
        return app_hash_missed_many(f, n, hits);
    return header_is_slice(&f->header) ? slice_contains_many(f, digests, n, hits)
                                       : doubt_contains_many(f, digests, n, hits);
}

/* The bits first, then the state of the file. */
bool lookup_live(const bloomfile *f, uint64_t digest)
{
    return f->contains(&f->view, digest) || live_in_doubt(f);
}

size_t lookup_many_live(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    const size_t found = f->kernel->contains_many(&f->view, digests, n, hits);
    return found < n && live_in_doubt(f) ? doubt_all_maybe(n, hits) : found;
}
