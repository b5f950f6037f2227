/* SPDX-License-Identifier: MIT
 * Lookups, one or many. */
#include "handle/app_hash.h"
#include "handle/doubt.h"
#include "handle/keys.h"
#include "handle/lookup.h"
#include "series/series.h"

/* A layer of a series has only some of its keys: bloomfile_layer() is not for lookups. */
static bool knows_all_keys(const bloomfile *f)
{
    return f->series != NULL || !header_is_layer(&f->header);
}

static __attribute__((noinline)) bool in_doubt(const bloomfile *f, uint64_t digest)
{
    if (!knows_all_keys(f))
        return true;
    return f->series != NULL && !f->unnamed ? series_contains(f, digest)
                                            : lookup_in_doubt(f, digest);
}

/* Few instructions, so that the processor overlaps the cache misses of many calls. */
bool bloomfile_contains_digest(const bloomfile *f, bloomfile_digest digest)
{
    if (!guard_all_good(&f->guard_storage))
        return in_doubt(f, digest);
    if (f->live == NULL)
        return f->contains(&f->view, digest);
    return lookup_live(f, digest);
}

bool bloomfile_contains(const bloomfile *f, const void *key, size_t size)
{
    if (f->app_hash)
        return app_hash_missed(f);
    return bloomfile_contains_digest(f, hash_key(f->header.seed, key, size));
}

static __attribute__((noinline)) size_t many_in_doubt(const bloomfile *f, const uint64_t *digests,
                                                      size_t n, bool *hits)
{
    if (!knows_all_keys(f))
        return doubt_all_maybe(n, hits);
    return f->series != NULL && !f->unnamed ? series_contains_many(f, digests, n, hits)
                                            : lookup_many_in_doubt(f, digests, n, hits);
}

size_t bloomfile_contains_digests(const bloomfile *f, const bloomfile_digest *digests, size_t n,
                                  bool *hits)
{
    if (!guard_all_good(&f->guard_storage))
        return many_in_doubt(f, digests, n, hits);
    if (f->live != NULL)
        return lookup_many_live(f, digests, n, hits);
    return f->kernel->contains_many(&f->view, digests, n, hits);
}

size_t bloomfile_contains_many(const bloomfile *f, const struct bloomfile_key *keys, size_t n,
                               bool *hits)
{
    uint64_t digests[KEYS_CHUNK];
    size_t found = 0;
    if (f->app_hash)
        return app_hash_missed_many(f, n, hits);
    for (size_t start = 0; start < n; start += KEYS_CHUNK) {
        size_t count = n - start < KEYS_CHUNK ? n - start : KEYS_CHUNK;
        keys_digests(f, keys + start, count, digests);
        found += bloomfile_contains_digests(f, digests, count, hits != NULL ? hits + start : NULL);
    }
    return found;
}
