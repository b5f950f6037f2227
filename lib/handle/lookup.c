/* SPDX-License-Identifier: MIT
 * Lookups that must check more than bits: pages, the state of a live file, the range of a slice,
 * the application's hash. */
#include "handle/lookup.h"

#include <bloomfile_hash.h>

#include "handle/unchecked.h"
#include "live/records.h"

bool lookup_unchecked(const bloomfile *f, uint64_t digest)
{
    if (f->unnamed)
        return app_hash_missed(f);
    return header_is_slice(&f->header) ? slice_contains(f, digest) : unchecked_contains(f, digest);
}

size_t lookup_many_unchecked(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    if (f->unnamed)
        return app_hash_missed_many(f, n, hits);
    return header_is_slice(&f->header) ? slice_contains_many(f, digests, n, hits)
                                       : unchecked_contains_many(f, digests, n, hits);
}

/* The bits first, then the state of the file. */
bool lookup_live(const bloomfile *f, uint64_t digest)
{
    return f->contains(&f->view, digest) || live_in_doubt(f);
}

size_t lookup_many_live(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    const size_t found = f->kernel->contains_many(&f->view, digests, n, hits);
    return found < n && live_in_doubt(f) ? unchecked_all_maybe(n, hits) : found;
}

/* ---- Digests of other slices are left out; for the others, lookups are those in the whole
 * filter. */

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
        return unchecked_contains(f, digest);
    const struct kernel_view view = unchecked_view(f);
    return f->contains(&view, digest);
}

static size_t own_contains_many(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    if (!guard_only_doubt(f->guard))
        return unchecked_contains_many(f, digests, n, hits);
    const struct kernel_view view = unchecked_view(f);
    return f->kernel->contains_many(&view, digests, n, hits);
}

static size_t contains_chunk(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    uint64_t own[UNCHECKED_CHUNK];
    size_t at[UNCHECKED_CHUNK], count = 0;
    for (size_t i = 0; i < n; i++) {
        own[count] = digests[i];
        at[count] = i;
        count += is_own(f, digests[i]);
    }
    if (count == n || hits == NULL)
        return n - count + own_contains_many(f, own, count, hits);
    bool found[UNCHECKED_CHUNK];
    const size_t hit = own_contains_many(f, own, count, found);
    unchecked_all_maybe(n, hits);
    for (size_t i = 0; i < count; i++)
        hits[at[i]] = found[i];
    return n - count + hit;
}

size_t slice_contains_many(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    size_t found = 0;
    for (size_t start = 0; start < n; start += UNCHECKED_CHUNK)
        found += contains_chunk(f, digests + start,
                                n - start < UNCHECKED_CHUNK ? n - start : UNCHECKED_CHUNK,
                                hits != NULL ? hits + start : NULL);
    return found;
}

/* ---- A handle without a known hash is in doubt as a whole. */

bool app_hash_missed(const bloomfile *f)
{
    atomic_store(&f->guard->unhashed, true);
    return true;
}

size_t app_hash_missed_many(const bloomfile *f, size_t n, bool *hits)
{
    if (n > 0)
        app_hash_missed(f);
    return unchecked_all_maybe(n, hits);
}

void app_hash_forget(bloomfile *f)
{
    if (!f->unnamed)
        guard_doubt(f->guard);
    f->unnamed = true;
}

int bloomfile_name_hash(bloomfile *f, uint32_t hash_id, uint64_t self_test)
{
    app_hash_forget(f); /* a caller that ignores the error must never get a "no" */
    if (hash_id != f->header.hash_id)
        return BLOOMFILE_EHASH;
    if (self_test != f->header.self_test)
        return BLOOMFILE_ESELFTEST;
    f->unnamed = false;
    guard_undoubt(f->guard);
    atomic_store(&f->guard->unhashed, false);
    return 0;
}
