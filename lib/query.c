/* SPDX-License-Identifier: MIT */
#include "keys.h"
#include "live.h"
#include "probe.h"

#define CHUNK 1024 /* digests whose pages are looked at before they are probed */
#define AHEAD 64   /* of them whose lines are requested even before */

/* While pages are unknown or bad: a bit or counter in a bad page counts as set (format-spec.md,
 * section 12). */
static bool scattered_contains(const bloomfile *f, uint64_t digest)
{
    const bool counting = f->header.layout == BLOOMFILE_COUNTING;
    const unsigned per_byte = counting ? 2 : 8, width = counting ? 4 : 1, mask = counting ? 15 : 1;
    uint64_t g = digest;
    for (uint32_t i = 0; i < f->header.k; i++, g *= PROBE_MULTIPLIER) {
        uint64_t x = probe_reduce(g, f->view.units), byte = x / per_byte;
        const unsigned shift = width * (unsigned)(x % per_byte);
        if (guard_ok(f->guard, byte) && (f->view.body[byte] >> shift & mask) == 0)
            return false;
    }
    return true;
}

static bool block_is_good(const bloomfile *f, uint64_t digest)
{
    return guard_ok(f->guard, PROBE_BLOCK_BYTES * probe_reduce(digest, f->view.units));
}

static __attribute__((noinline)) bool contains_in_doubt(const bloomfile *f, uint64_t digest)
{
    if (f->live != NULL)
        return live_in_doubt(f) || f->kernel->contains(&f->view, digest);
    if (f->header.layout != BLOOMFILE_BLOCKED)
        return scattered_contains(f, digest);
    return !block_is_good(f, digest) || f->kernel->contains(&f->view, digest);
}

/* Few instructions, so that the processor has the cache lines of many calls under way at once. */
bool bloomfile_contains_digest(const bloomfile *f, bloomfile_digest digest)
{
    if (guard_all_good(f->guard))
        return f->kernel->contains(&f->view, digest);
    return contains_in_doubt(f, digest);
}

bool bloomfile_contains(const bloomfile *f, const void *key, size_t size)
{
    return bloomfile_contains_digest(f, hash_key(f->header.seed, key, size));
}

/* The answers do not need the pages to be looked at one by one. */
static bool all_good(const bloomfile *f, const uint64_t *digests, size_t n)
{
    if (f->live != NULL)
        return !live_in_doubt(f);
    if (f->header.layout != BLOOMFILE_BLOCKED)
        return false;
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good &= block_is_good(f, digests[i]);
    return good;
}

/* The byte of the body that a lookup reads first. */
static uint64_t first_byte(const bloomfile *f, uint64_t digest)
{
    const uint64_t unit = probe_reduce(digest, f->view.units);
    return f->header.layout == BLOOMFILE_BLOCKED    ? PROBE_BLOCK_BYTES * unit
           : f->header.layout == BLOOMFILE_COUNTING ? unit / 2
                                                    : unit / 8;
}

/* Has the disk read the pages that the lookups need, and their checksums, side by side. */
static void request_pages(const bloomfile *f, const uint64_t *digests, size_t n)
{
    uint64_t requested[CHUNK] = { 0 }; /* pages, counted from 1; of a small file all */
    for (size_t i = 0; i < n; i++) {
        const uint64_t byte = first_byte(f, digests[i]), page = byte / CHECKSUM_PAGE;
        if (!guard_unknown(f->guard, byte) || requested[page % CHUNK] == page + 1)
            continue;
        requested[page % CHUNK] = page + 1;
        map_announce(&f->map, f->view.body + page * CHECKSUM_PAGE,
                     checksum_page_size(f->header.body_size, page));
        map_announce(&f->map, f->guard->checksums + 4 * page, 4);
    }
}

/* Looks at the page of a byte, and says whether that meant to wait for a disk. */
static bool is_cold(const bloomfile *f, uint64_t byte)
{
    const long before = map_waits();
    guard_ok(f->guard, byte);
    return map_waits() != before;
}

/* If the first page that nobody has looked at comes from a disk, the others are requested, too:
 * otherwise that would cost more than it saves. */
static void announce(const bloomfile *f, const uint64_t *digests, size_t n)
{
    size_t i = 0;
    while (i < n && !guard_unknown(f->guard, first_byte(f, digests[i])))
        i++;
    if (i + 1 < n && is_cold(f, first_byte(f, digests[i])))
        request_pages(f, digests + i + 1, n - i - 1);
}

static size_t contains_chunk(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    if (!f->guard->trust)
        announce(f, digests, n);
    f->kernel->expect(&f->view, digests, n < AHEAD ? n : AHEAD);
    if (all_good(f, digests, n))
        return f->kernel->contains_many(&f->view, digests, n, hits);
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        bool hit = contains_in_doubt(f, digests[i]);
        if (hits != NULL)
            hits[i] = hit;
        found += hit;
    }
    return found;
}

size_t bloomfile_contains_digests(const bloomfile *f, const bloomfile_digest *digests, size_t n,
                                  bool *hits)
{
    if (guard_all_good(f->guard))
        return f->kernel->contains_many(&f->view, digests, n, hits);
    size_t found = 0;
    for (size_t start = 0; start < n; start += CHUNK)
        found += contains_chunk(f, digests + start, n - start < CHUNK ? n - start : CHUNK,
                                hits != NULL ? hits + start : NULL);
    return found;
}

size_t bloomfile_contains_many(const bloomfile *f, const struct bloomfile_key *keys, size_t n,
                               bool *hits)
{
    uint64_t digests[KEYS_CHUNK];
    size_t found = 0;
    for (size_t start = 0; start < n; start += KEYS_CHUNK) {
        size_t count = n - start < KEYS_CHUNK ? n - start : KEYS_CHUNK;
        keys_digests(f, keys + start, count, digests);
        found += bloomfile_contains_digests(f, digests, count, hits != NULL ? hits + start : NULL);
    }
    return found;
}
