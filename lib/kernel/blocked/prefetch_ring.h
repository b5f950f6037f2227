/* SPDX-License-Identifier: MIT
 *
 * Batch lookups in the blocked layout, for the block test of any instruction set.
 *
 * A lookup reads one cache line. In a large body nearly all of its time is the latency of that
 * line, so a batch keeps many line fills in flight: it prefetches each line KERNEL_RING lookups
 * ahead.
 */
#ifndef BLOOMFILE_KERNEL_BLOCKED_PREFETCH_RING_H
#define BLOOMFILE_KERNEL_BLOCKED_PREFETCH_RING_H

#include "format/bytes.h"
#include "format/probe.h"
#include "kernel/kernel.h"

/* How many lookups ahead a line is prefetched.
 *
 * On Zen 5 the latency of a line of a 125 MB file is 141 ns, and lines arrive every 3.13 ns at
 * best, so 141 / 3.13 = 45 fills are in flight on average. The distance must be larger, because
 * some lines take longer than average. Bare loads, ns a line (bench/results/peers-sizes.md, "random
 * lines"):
 *
 *     distance    16     32     64     96    128    192    256
 *     ns        6.40   5.00   3.65   3.13   3.13   3.21   3.37
 *
 * Sapphire Rapids has the same minimum, but it is flat: 21.5 ns for 16, and 19.2 to 19.9 for 64 to
 * 256 (peers.md). */
#define KERNEL_RING 96

/* A lookup in several bodies reads a line of each, so the distance is divided by their number. But
 * each line is prefetched at least 8 lookups ahead. */
#define KERNEL_RING_LEAST 8

/* Bodies up to 256 KiB stay in the L2 cache (1 MiB on Zen 4 and 5, 2 MiB on Sapphire Rapids), and
 * are not prefetched: in 100 KB a lookup takes 1.28 ns without, 1.48 with prefetching. */
#define KERNEL_NEAR_BYTES (1 << 18)

/* Inlined into functions of each instruction set. */
#define KERNEL_INLINE static inline __attribute__((always_inline))

/* Tests whether a block has all bits of a digest: bloomfile_block_has_few_X() or _many_X() of an
 * instruction set X. */
typedef bool kernel_block_test(const uint8_t *block, unsigned k, uint64_t digest);

/* Computes with integers: for a slice, `body` is the address where the whole filter would begin. It
 * may be outside any object, and pointer arithmetic would be undefined there. */
KERNEL_INLINE const uint8_t *kernel_block(const struct kernel_view *view, uint64_t digest)
{
    const uint64_t byte = PROBE_BLOCK_BYTES * probe_reduce(digest, view->units);
    return (const uint8_t *)((uintptr_t)view->body + (uintptr_t)byte);
}

KERNEL_INLINE bool kernel_is_near(const struct kernel_view *view)
{
    return view->units <= KERNEL_NEAR_BYTES / PROBE_BLOCK_BYTES;
}

KERNEL_INLINE void kernel_request(const struct kernel_view *view, uint64_t digest)
{
    __builtin_prefetch(kernel_block(view, digest));
}

/* Returns whether blocks cross cache lines. Both lines of a block are then prefetched: a batch that
 * prefetched only the first line took 3 to 12 times as long. */
KERNEL_INLINE bool kernel_is_split(const struct kernel_view *view)
{
    return (uintptr_t)view->body % PROBE_BLOCK_BYTES != 0;
}

KERNEL_INLINE void kernel_request_lines(const struct kernel_view *view, uint64_t digest, bool split)
{
    const uint8_t *block = kernel_block(view, digest);
    __builtin_prefetch(block);
    if (split)
        __builtin_prefetch(block + PROBE_BLOCK_BYTES - 1);
}

/* Looks up digests `start` to `end - 1`. If ahead > 0, prefetches the lines of digest i + ahead
 * before it looks up digest i. */
KERNEL_INLINE size_t kernel_ring_stretch(const struct kernel_view *view, const uint64_t *digests,
                                         size_t start, size_t end, size_t ahead, bool split,
                                         bool *hits, kernel_block_test *test)
{
    size_t found = 0;
    for (size_t i = start; i < end; i++) {
        if (ahead > 0)
            kernel_request_lines(view, digests[i + ahead], split);
        bool hit = test(kernel_block(view, digests[i]), view->k, digests[i]);
        if (hits != NULL)
            hits[i] = hit;
        found += hit;
    }
    return found;
}

KERNEL_INLINE size_t kernel_ring_far(const struct kernel_view *view, const uint64_t *digests,
                                     size_t n, bool split, bool *hits, kernel_block_test *test)
{
    const size_t done = n > KERNEL_RING ? n - KERNEL_RING : 0;
    for (size_t i = 0; i < n && i < KERNEL_RING; i++)
        kernel_request_lines(view, digests[i], split);
    return kernel_ring_stretch(view, digests, 0, done, KERNEL_RING, split, hits, test) +
           kernel_ring_stretch(view, digests, done, n, 0, split, hits, test);
}

KERNEL_INLINE size_t kernel_ring(const struct kernel_view *given, const uint64_t *digests, size_t n,
                                 bool *hits, kernel_block_test *test)
{
    const struct kernel_view copy = *given,
                             *view = &copy; /* no store to `hits` can change a local copy */
    if (n <= 1 || kernel_is_near(view))
        return kernel_ring_stretch(view, digests, 0, n, 0, false, hits, test);
    return kernel_is_split(view) ? kernel_ring_far(view, digests, n, true, hits, test)
                                 : kernel_ring_far(view, digests, n, false, hits, test);
}

/* ---- several bodies */

/* Number of lookups that lines are prefetched ahead; 0 if no body is larger than
 * KERNEL_NEAR_BYTES. */
KERNEL_INLINE size_t kernel_ahead_in(const struct kernel_view *views, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!kernel_is_near(&views[i]))
            return KERNEL_RING / count > KERNEL_RING_LEAST ? KERNEL_RING / count
                                                           : KERNEL_RING_LEAST;
    return 0;
}

KERNEL_INLINE bool kernel_is_any_split(const struct kernel_view *views, size_t count)
{
    bool split = false;
    for (size_t i = 0; i < count; i++)
        split |= kernel_is_split(&views[i]);
    return split;
}

KERNEL_INLINE void kernel_request_in(const struct kernel_view *views, size_t count, uint64_t digest,
                                     bool split)
{
    const struct kernel_view *view = views, *end = views + count;
    do
        kernel_request_lines(view, digest, split);
    while (++view != end);
}

#endif
