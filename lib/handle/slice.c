/* SPDX-License-Identifier: MIT
 * A digest's block is that of the whole filter. The kernel is asked for this block alone, as if it
 * were a body of one. */
#include "handle/slice.h"

#include "format/probe.h"
#include "handle/doubt.h"

#define AHEAD 64 /* lookups whose lines are requested together */

/* The digest's block, counted from the slice's first; too large if it is another slice's. */
static uint64_t block_of(const bloomfile *f, uint64_t digest)
{
    return probe_reduce(digest, f->header.whole_blocks) - f->header.first_block;
}

static bool block_contains(const bloomfile *f, uint64_t block, uint64_t digest)
{
    const uint64_t byte = block * PROBE_BLOCK_BYTES;
    const struct kernel_view one = { .body = f->view.body + byte, .units = 1, .k = f->view.k };
    return !guard_ok(f->guard, byte) || f->kernel->contains(&one, digest);
}

bool slice_contains(const bloomfile *f, uint64_t digest)
{
    const uint64_t block = block_of(f, digest);
    return block >= f->geometry.units || block_contains(f, block, digest);
}

/* The digests that are the slice's own, and where they stand in the batch. */
struct own {
    size_t count, at[DOUBT_CHUNK];
    uint64_t digests[DOUBT_CHUNK], blocks[DOUBT_CHUNK];
};

static void pick_own(const bloomfile *f, const uint64_t *digests, size_t n, struct own *own)
{
    own->count = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t block = block_of(f, digests[i]);
        own->at[own->count] = i;
        own->digests[own->count] = digests[i];
        own->blocks[own->count] = block;
        own->count += block < f->geometry.units;
    }
}

static void request(const bloomfile *f, const struct own *own, size_t from)
{
    for (size_t i = from; i < own->count && i < from + AHEAD; i++)
        __builtin_prefetch(f->view.body + own->blocks[i] * PROBE_BLOCK_BYTES);
}

static size_t contains_chunk(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    struct own own;
    pick_own(f, digests, n, &own);
    doubt_announce(f, own.digests, own.count);
    size_t found = n - own.count;
    if (hits != NULL)
        doubt_all_maybe(n, hits);
    request(f, &own, 0);
    for (size_t i = 0; i < own.count; i++) {
        if (i % AHEAD == 0)
            request(f, &own, i + AHEAD);
        const bool hit = block_contains(f, own.blocks[i], own.digests[i]);
        if (hits != NULL)
            hits[own.at[i]] = hit;
        found += hit;
    }
    return found;
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
