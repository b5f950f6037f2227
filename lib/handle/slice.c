/* SPDX-License-Identifier: MIT
 * Digests of other slices are left out; for the others, lookups are those in the whole filter. */
#include "handle/slice.h"

#include "handle/doubt.h"

static bool is_own(const bloomfile *f, uint64_t digest)
{
    const uint64_t block = probe_reduce(digest, f->header.whole_blocks) - f->header.first_block;
    return block < f->geometry.units;
}

bool slice_contains(const bloomfile *f, uint64_t digest)
{
    if (!is_own(f, digest))
        return true;
    if (!guard_only_doubt(f->guard))
        return doubt_contains(f, digest);
    const struct kernel_view view = doubt_view(f);
    return f->contains(&view, digest);
}

static size_t own_contains_many(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    if (!guard_only_doubt(f->guard))
        return doubt_contains_many(f, digests, n, hits);
    const struct kernel_view view = doubt_view(f);
    return f->kernel->contains_many(&view, digests, n, hits);
}

static size_t contains_chunk(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    uint64_t own[DOUBT_CHUNK];
    size_t at[DOUBT_CHUNK], count = 0;
    for (size_t i = 0; i < n; i++) {
        own[count] = digests[i];
        at[count] = i;
        count += is_own(f, digests[i]);
    }
    if (count == n || hits == NULL)
        return n - count + own_contains_many(f, own, count, hits);
    bool found[DOUBT_CHUNK];
    const size_t hit = own_contains_many(f, own, count, found);
    doubt_all_maybe(n, hits);
    for (size_t i = 0; i < count; i++)
        hits[at[i]] = found[i];
    return n - count + hit;
}

size_t slice_contains_many(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    size_t found = 0;
    for (size_t start = 0; start < n; start += DOUBT_CHUNK)
        found +=
            contains_chunk(f, digests + start, n - start < DOUBT_CHUNK ? n - start : DOUBT_CHUNK,
                           hits != NULL ? hits + start : NULL);
    return found;
}
