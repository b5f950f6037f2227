/* SPDX-License-Identifier: MIT
 * Lookups that verify pages first. Each chunk of digests has all its pages verified before its bits
 * are tested. */
#include "handle/unchecked.h"

#include <string.h>

#include "kernel/scattered/rounds.h"
#include "live/records.h"

#define AHEAD 64 /* digests whose lines are prefetched before their pages are verified  \ */

/* ---- one */

static inline bool is_set_or_bad(const struct kernel_view *view, enum kernel_density density,
                                 uint64_t x, void *guard)
{
    return !guard_ok(guard, x / density) || kernel_is_set(view->body, density, x);
}

static inline void next_checked_round(const struct kernel_view *view, enum kernel_density density,
                                      struct kernel_runners *r, unsigned width, void *guard)
{
    kernel_rounds_next(view, density, r, width, is_set_or_bad, guard);
}

/* The first byte of the body that a lookup reads. In a slice, only for digests of the slice. */
static uint64_t first_byte(const bloomfile_filter *f, uint64_t digest)
{
    const uint64_t unit = probe_reduce(digest, header_range(&f->header)) - f->header.first_block;
    return unit * f->geometry.unit_bits / 8;
}

static bool unit_is_good(const bloomfile_filter *f, uint64_t digest)
{
    return guard_ok(f->guard, first_byte(f, digest));
}

bool unchecked_contains(const bloomfile_filter *f, uint64_t digest)
{
    switch (f->kernel->density) {
    case KERNEL_BITS:
        return kernel_rounds_one(&f->view, KERNEL_BITS, digest, is_set_or_bad, f->guard);
    case KERNEL_COUNTERS:
        return kernel_rounds_one(&f->view, KERNEL_COUNTERS, digest, is_set_or_bad, f->guard);
    default:
        break;
    }
    const struct kernel_view view = unchecked_view(f);
    return !unit_is_good(f, digest) || f->kernel->contains(&view, digest);
}

/* ---- one lookup, without waiting: reads only bytes that are in the page cache */

/* Returns whether those bytes of the image, at most a page, are in memory. */
static bool is_cached(const bloomfile_filter *f, const uint8_t *bytes, size_t size)
{
    const struct live *l = f->live;
    if (f->map.base == NULL || f->map.copied || (l != NULL && l->in_memory))
        return true;
    return file_is_cached(l != NULL ? l->fd : f->reader,
                          f->start + (uint64_t)(bytes - f->map.bytes), size);
}

/* Returns whether the page of a byte of the body is cached, and the page's checksum if it is
 * needed. */
static bool page_is_cached(const bloomfile_filter *f, uint64_t byte)
{
    const uint64_t page = byte / CHECKSUM_PAGE;
    if (!is_cached(f, f->view.body + page * CHECKSUM_PAGE,
                   checksum_page_size(f->header.body_size, page)))
        return false;
    return f->guard->trust || !guard_unknown(f->guard, byte) ||
           is_cached(f, f->guard->checksums + 4 * page, 4);
}

static bool is_set_bad_or_elsewhere(const struct kernel_view *view, enum kernel_density density,
                                    uint64_t x, void *filter)
{
    const bloomfile_filter *f = filter;
    return !page_is_cached(f, x / density) || is_set_or_bad(view, density, x, f->guard);
}

/* Tests the bits. Returns "maybe" if they are not cached. */
static bool bits_contain(const bloomfile_filter *f, uint64_t digest)
{
    void *context = (bloomfile_filter *)(uintptr_t)f; /* is only read */
    switch (f->kernel->density) {
    case KERNEL_BITS:
        return kernel_rounds_one(&f->view, KERNEL_BITS, digest, is_set_bad_or_elsewhere, context);
    case KERNEL_COUNTERS:
        return kernel_rounds_one(&f->view, KERNEL_COUNTERS, digest, is_set_bad_or_elsewhere,
                                 context);
    default:
        return !page_is_cached(f, first_byte(f, digest)) || unchecked_contains(f, digest);
    }
}

bool unchecked_contains_nowait(const bloomfile_filter *f, uint64_t digest)
{
    if (guard_distrusted(f->guard) || bits_contain(f, digest))
        return true;
    return f->live != NULL && (!is_cached(f, f->map.bytes, HEADER_MAX) || live_in_doubt(f));
}

/* ---- pages on a disk */

/* Starts reading all pages that the lookups need, and their checksums. */
static void request_pages(const bloomfile_filter *f, const uint64_t *digests, size_t n)
{
    /* A direct-mapped set of the pages already requested, as number + 1, at index number modulo the
     * size. The pages of a small file all fit. */
    uint64_t requested[UNCHECKED_CHUNK] = { 0 };
    for (size_t i = 0; i < n; i++) {
        const uint64_t byte = first_byte(f, digests[i]), page = byte / CHECKSUM_PAGE;
        if (!guard_unknown(f->guard, byte) || requested[page % UNCHECKED_CHUNK] == page + 1)
            continue;
        requested[page % UNCHECKED_CHUNK] = page + 1;
        map_announce(&f->map, f->view.body + page * CHECKSUM_PAGE,
                     checksum_page_size(f->header.body_size, page));
        map_announce(&f->map, f->guard->checksums + 4 * page, 4);
    }
}

/* Checks the page of a byte. Returns whether that waited for a disk. */
static bool is_cold(const bloomfile_filter *f, uint64_t byte)
{
    const long before = map_waits();
    guard_ok(f->guard, byte);
    return map_waits() != before;
}

/* If the first unchecked page had to be read from disk, requests the remaining pages as well. If it
 * was in memory, the requests would cost more than they save. */
static void unchecked_announce(const bloomfile_filter *f, const uint64_t *digests, size_t n)
{
    if (f->guard->trust)
        return;
    size_t i = 0;
    while (i < n && !guard_unknown(f->guard, first_byte(f, digests[i])))
        i++;
    if (i + 1 < n && is_cold(f, first_byte(f, digests[i])))
        request_pages(f, digests + i + 1, n - i - 1);
}

/* ---- many */

size_t unchecked_all_maybe(size_t n, bool *hits)
{
    if (hits != NULL)
        memset(hits, true, n);
    return n;
}

/* Checks the pages first, then replaces the answers that depend on bad pages. */
static size_t local_contains(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                             bool *hits)
{
    bool good[UNCHECKED_CHUNK], own[UNCHECKED_CHUNK];
    const struct kernel_view view = unchecked_view(f);
    size_t sure = 0;
    for (size_t i = 0; i < n; i++)
        sure += good[i] = unit_is_good(f, digests[i]);
    if (sure == n)
        return f->kernel->contains_many(&view, digests, n, hits);
    if (guard_distrusted(f->guard))
        return unchecked_all_maybe(n, hits);
    if (hits == NULL)
        hits = own;
    size_t found = f->kernel->contains_many(&view, digests, n, hits);
    for (size_t i = 0; i < n; i++) {
        found += !good[i] && !hits[i];
        hits[i] |= !good[i];
    }
    return found;
}

static size_t contains_chunk(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                             bool *hits)
{
    const struct kernel_view view = unchecked_view(f);
    unchecked_announce(f, digests, n);
    f->kernel->expect(&view, digests, n < AHEAD ? n : AHEAD);
    switch (f->kernel->density) {
    case KERNEL_BITS:
        return kernel_rounds(&f->view, KERNEL_BITS, digests, n, hits, false, next_checked_round,
                             f->guard);
    case KERNEL_COUNTERS:
        return kernel_rounds(&f->view, KERNEL_COUNTERS, digests, n, hits, false, next_checked_round,
                             f->guard);
    default:
        return local_contains(f, digests, n, hits);
    }
}

size_t unchecked_contains_many(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                               bool *hits)
{
    if (guard_distrusted(f->guard))
        return unchecked_all_maybe(n, hits);
    return unchecked_in_chunks(f, digests, n, hits, contains_chunk);
}
