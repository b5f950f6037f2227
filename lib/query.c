/* SPDX-License-Identifier: MIT
 * Lookups, one or many. */
#include "handle/app_hash.h"
#include "handle/doubt.h"
#include "handle/keys.h"

static __attribute__((noinline)) bool contains_in_doubt(const bloomfile *f, uint64_t digest)
{
    return f->unnamed ? f->kernel->contains(&f->view, digest) : doubt_contains(f, digest);
}

/* Few instructions, so that the processor overlaps the cache misses of many calls. */
bool bloomfile_contains_digest(const bloomfile *f, bloomfile_digest digest)
{
    if (guard_all_good(f->guard))
        return f->kernel->contains(&f->view, digest);
    return contains_in_doubt(f, digest);
}

bool bloomfile_contains(const bloomfile *f, const void *key, size_t size)
{
    if (f->app_hash)
        return app_hash_missed(f);
    return bloomfile_contains_digest(f, hash_key(f->header.seed, key, size));
}

size_t bloomfile_contains_digests(const bloomfile *f, const bloomfile_digest *digests, size_t n,
                                  bool *hits)
{
    if (guard_all_good(f->guard) || f->unnamed)
        return f->kernel->contains_many(&f->view, digests, n, hits);
    return doubt_contains_many(f, digests, n, hits);
}

size_t bloomfile_contains_many(const bloomfile *f, const struct bloomfile_key *keys, size_t n,
                               bool *hits)
{
    uint64_t digests[KEYS_CHUNK];
    size_t found = 0;
    for (size_t i = 0; f->app_hash && i < n; i++) {
        app_hash_missed(f);
        if (hits != NULL)
            hits[i] = true;
    }
    if (f->app_hash)
        return n;
    for (size_t start = 0; start < n; start += KEYS_CHUNK) {
        size_t count = n - start < KEYS_CHUNK ? n - start : KEYS_CHUNK;
        keys_digests(f, keys + start, count, digests);
        found += bloomfile_contains_digests(f, digests, count, hits != NULL ? hits + start : NULL);
    }
    return found;
}
