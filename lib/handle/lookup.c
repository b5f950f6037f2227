/* SPDX-License-Identifier: MIT
 * Lookups that check more than bits: the state of a live file, the range of a slice, the
 * application's hash. Each handle gets its lookup functions here. */
#include "handle/lookup.h"

#include "format/min.h"
#include "handle/unchecked.h"
#include "kernel/blocked/prefetch_ring.h"
#include "live/records.h"

/* ---- Live files: the bits first, then the state of the file. */

static bool live_contains(const struct kernel_view *view, uint64_t digest)
{
    const bloomfile_filter *f = handle_of_view(view);
    return f->kernel->contains(view, digest) || live_in_doubt(f);
}

static bool live_contains_few(const struct kernel_view *view, uint64_t digest)
{
    const bloomfile_filter *f = handle_of_view(view);
    return f->kernel->contains_few(view, digest) || live_in_doubt(f);
}

static size_t live_contains_many(const struct kernel_view *view, const uint64_t *digests, size_t n,
                                 bool *hits)
{
    const bloomfile_filter *f = handle_of_view(view);
    const size_t found = f->kernel->contains_many(view, digests, n, hits);
    return found < n && live_in_doubt(f) ? unchecked_all_maybe(n, hits) : found;
}

/* ---- Batches of keys. All keys of a chunk are hashed before the first is looked up. Hashing keys
 * of mixed lengths mispredicts branches, which discards lookups begun after the branch but not its
 * prefetches. It also makes the ends of loops hard to predict, so there are few loops. */

#define LOOKUP_CLOSE 256 /* bytes from key to key, up to which the processor prefetches keys */
#define LOOKUP_GROUP 16  /* keys that are prefetched together */

/* Prefetches the first and the last line of each key. Inlined, because gcc drops calls of a
 * function that only prefetches. */
__attribute__((always_inline)) static inline void request_keys(const struct bloomfile_key *keys,
                                                               size_t n)
{
#pragma GCC unroll 1
    for (size_t i = 0; i < n; i++) {
        const uintptr_t data = (uintptr_t)keys[i].data;
        __builtin_prefetch((const void *)data);
        __builtin_prefetch((const void *)(data + keys[i].size));
    }
}

/* Prefetches each block as soon as its digest is known. A separate loop of prefetches would start
 * only after the last hash. */
static void digests_of_group(const bloomfile_filter *f, const struct bloomfile_key *keys, size_t n,
                             uint64_t *digests)
{
    const uint64_t seed = f->header.seed;
    const struct kernel_view view = f->view;
    if (f->series == NULL && f->header.layout == BLOOMFILE_LAYOUT_BLOCKED &&
        !kernel_is_split(&view)) {
        for (size_t i = 0; i < n; i++) {
            digests[i] = hash_key(seed, keys[i].data, keys[i].size);
            kernel_request(&view, digests[i]);
        }
        return;
    }
    for (size_t i = 0; i < n; i++)
        digests[i] = hash_key(seed, keys[i].data, keys[i].size);
    if (f->series == NULL)
        f->kernel->expect(&f->view, digests, n);
}

/* Keys that lie close together are one group, and are not prefetched. */
void lookup_digests(const bloomfile_filter *f, const struct bloomfile_key *keys, size_t n,
                    uint64_t *digests)
{
    const uintptr_t span = (uintptr_t)keys[n - 1].data - (uintptr_t)keys[0].data;
    const size_t group = span > n * LOOKUP_CLOSE ? LOOKUP_GROUP : n;
    if (group < n)
        request_keys(keys, group);
    for (size_t start = 0, end; start < n; start = end) {
        end = start + MIN(n - start, group);
        request_keys(keys + end, MIN(n - end, group));
        digests_of_group(f, keys + start, end - start, digests + start);
    }
}

size_t lookup_ready(const bloomfile_filter *f, const uint64_t *digests, size_t n, bool *hits)
{
    if (!guard_all_good(&f->guard_storage))
        return f->doubtful->contains_many(f, digests, n, hits);
    if (f->series != NULL)
        return f->contains_many(&f->view, digests, n, hits);
    const size_t found = f->kernel->contains_ready(&f->view, digests, n, hits);
    return found < n && f->live != NULL && live_in_doubt(f) ? unchecked_all_maybe(n, hits) : found;
}

/* ---- Slices (doc/format/slices.md 1) answer "maybe" for digests of other slices. Digests of the
 * slice are looked up as in the whole filter. */

static bool is_own_digest(const bloomfile_filter *f, uint64_t digest)
{
    const uint64_t block = probe_reduce(digest, f->header.whole_blocks) - f->header.first_block;
    return block < f->geometry.units;
}

static bool slice_contains(const bloomfile_filter *f, uint64_t digest)
{
    if (!is_own_digest(f, digest))
        return true;
    if (!guard_only_doubt(f->guard))
        return unchecked_contains(f, digest);
    const struct kernel_view view = unchecked_view(f);
    return f->kernel->contains(&view, digest);
}

static bool slice_contains_nowait(const bloomfile_filter *f, uint64_t digest)
{
    return !is_own_digest(f, digest) || unchecked_contains_nowait(f, digest);
}

static size_t own_contains_many(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                                bool *hits)
{
    if (!guard_only_doubt(f->guard))
        return unchecked_contains_many(f, digests, n, hits);
    const struct kernel_view view = unchecked_view(f);
    return f->kernel->contains_many(&view, digests, n, hits);
}

static size_t slice_contains_chunk(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                                   bool *hits)
{
    uint64_t own[UNCHECKED_CHUNK];
    size_t at[UNCHECKED_CHUNK], count = 0;
    for (size_t i = 0; i < n; i++) {
        own[count] = digests[i];
        at[count] = i;
        count += is_own_digest(f, digests[i]);
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

static size_t slice_contains_many(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                                  bool *hits)
{
    return unchecked_in_chunks(f, digests, n, hits, slice_contains_chunk);
}

/* ---- Layers: a layer has only some of the keys of its series. */

static bool layer_contains(const bloomfile_filter *f, uint64_t digest)
{
    (void)f;
    (void)digest;
    return true;
}

static size_t layer_contains_many(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                                  bool *hits)
{
    (void)f;
    (void)digests;
    return unchecked_all_maybe(n, hits);
}

/* ---- Handles with an application's hash that the caller did not name. */

size_t app_hash_missed(const bloomfile_filter *f, size_t n, bool *hits)
{
    if (n > 0)
        atomic_store(&f->guard->unhashed, true);
    return unchecked_all_maybe(n, hits);
}

static bool unnamed_contains(const bloomfile_filter *f, uint64_t digest)
{
    (void)digest;
    return app_hash_missed(f, 1, NULL) == 1;
}

static size_t unnamed_contains_many(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                                    bool *hits)
{
    (void)digests;
    return app_hash_missed(f, n, hits);
}

/* ---- The choice. */

static const struct doubtful_lookup lookup_in_pages = { unchecked_contains, unchecked_contains_many,
                                                        unchecked_contains_nowait };
static const struct doubtful_lookup lookup_in_slice = { slice_contains, slice_contains_many,
                                                        slice_contains_nowait };
static const struct doubtful_lookup lookup_in_layer = { layer_contains, layer_contains_many,
                                                        layer_contains };
const struct doubtful_lookup lookup_unnamed = { unnamed_contains, unnamed_contains_many,
                                                unnamed_contains };

static void start_lookup(bloomfile_filter *f, const struct doubtful_lookup *lookup, bool named)
{
    const bool known = named || !hash_is_applications(f->header.hash_id);
    f->doubtful = known ? lookup : &lookup_unnamed;
    if (!known)
        guard_doubt(f->guard);
}

void lookup_sealed(bloomfile_filter *f)
{
    const bool few = f->view.k <= PROBE_SLICES && f->kernel->contains_few != NULL;
    f->contains = few ? f->kernel->contains_few : f->kernel->contains;
    f->contains_many = f->kernel->contains_many;
}

/* The doubt is added last: a thread that sees it also sees the lookup functions set before. */
uint64_t app_hash_unmade(const bloomfile_filter *f)
{
    bloomfile_filter *handle = (bloomfile_filter *)(uintptr_t)f;
    atomic_store(&f->guard->unhashed, true);
    if (atomic_exchange(&handle->doubtful, &lookup_unnamed) != &lookup_unnamed)
        guard_doubt(f->guard);
    return 0;
}

/* Slices and layers always have a doubt, because their bits alone are not an answer. The handle of
 * a series reads the bits of its layers and then their states. It reads the states itself for
 * single digests, so a layer does not get live_contains(). */
void lookup_start_image(bloomfile_filter *f, bool named)
{
    const bool layer = header_is_layer(&f->header), slice = header_is_slice(&f->header);
    lookup_sealed(f);
    if (f->live != NULL && !layer)
        f->contains = f->contains == f->kernel->contains_few ? live_contains_few : live_contains;
    if (f->live != NULL)
        f->contains_many = live_contains_many;
    if (layer || slice)
        guard_doubt(f->guard);
    start_lookup(f,
                 layer   ? &lookup_in_layer
                 : slice ? &lookup_in_slice
                         : &lookup_in_pages,
                 named || layer);
}

void lookup_start_series(bloomfile_filter *f, const struct doubtful_lookup *in_layers, bool named)
{
    start_lookup(f, in_layers, named);
}
