/* SPDX-License-Identifier: MIT */
#include "filter.h"
#include "hash.h"
#include "probe.h"

#define CHUNK 128 /* keys hashed before they are probed */

static bool pages_good(const bloomfile *f, uint64_t digest)
{
    if (f->header.layout == BLOOMFILE_BLOCKED)
        return guard_ok(f->guard, PROBE_BLOCK_BYTES * probe_reduce(digest, f->units));
    const unsigned per_byte = f->header.layout == BLOOMFILE_COUNTING ? 2 : 8;
    bool good = true;
    uint64_t g = digest;
    for (uint32_t i = 0; i < f->header.k; i++, g *= PROBE_MULTIPLIER)
        good &= guard_ok(f->guard, probe_reduce(g, f->units) / per_byte);
    return good;
}

/* A bit or counter in a bad page counts as set (format-spec.md, section 12). */
static bool contains_in_doubt(const bloomfile *f, uint64_t digest)
{
    if (f->header.layout == BLOOMFILE_BLOCKED)
        return true;
    const bool counting = f->header.layout == BLOOMFILE_COUNTING;
    uint64_t g = digest;
    for (uint32_t i = 0; i < f->header.k; i++, g *= PROBE_MULTIPLIER) {
        uint64_t x = probe_reduce(g, f->units);
        uint64_t byte = counting ? x / 2 : x / 8;
        unsigned value =
            counting ? f->body[byte] >> (4 * (x % 2)) & 15u : f->body[byte] >> x % 8 & 1u;
        if (value == 0 && guard_ok(f->guard, byte))
            return false;
    }
    return true;
}

bool bloomfile_contains_digest(const bloomfile *f, bloomfile_digest digest)
{
    if (guard_all_good(f->guard) || pages_good(f, digest))
        return f->kernel->contains(f->body, f->units, f->header.k, digest);
    return contains_in_doubt(f, digest);
}

bool bloomfile_contains(const bloomfile *f, const void *key, size_t size)
{
    return bloomfile_contains_digest(f, hash_key(f->header.seed, key, size));
}

static size_t contains_one_by_one(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        bool hit = bloomfile_contains_digest(f, digests[i]);
        if (hits != NULL)
            hits[i] = hit;
        found += hit;
    }
    return found;
}

static size_t contains_chunk(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good &= pages_good(f, digests[i]);
    return good ? f->kernel->contains_many(f->body, f->units, f->header.k, digests, n, hits)
                : contains_one_by_one(f, digests, n, hits);
}

size_t bloomfile_contains_digests(const bloomfile *f, const bloomfile_digest *digests, size_t n,
                                  bool *hits)
{
    if (guard_all_good(f->guard))
        return f->kernel->contains_many(f->body, f->units, f->header.k, digests, n, hits);
    size_t found = 0;
    for (size_t start = 0; start < n; start += CHUNK)
        found += contains_chunk(f, digests + start, n - start < CHUNK ? n - start : CHUNK,
                                hits != NULL ? hits + start : NULL);
    return found;
}

size_t bloomfile_contains_many(const bloomfile *f, const struct bloomfile_key *keys, size_t n,
                               bool *hits)
{
    uint64_t digests[CHUNK];
    size_t found = 0;
    for (size_t start = 0; start < n; start += CHUNK) {
        size_t count = n - start < CHUNK ? n - start : CHUNK;
        for (size_t i = 0; i < count; i++)
            digests[i] = hash_key(f->header.seed, keys[start + i].data, keys[start + i].size);
        found += bloomfile_contains_digests(f, digests, count, hits != NULL ? hits + start : NULL);
    }
    return found;
}
