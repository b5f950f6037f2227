/* SPDX-License-Identifier: MIT
 *
 * Batches in the layout ribbon: what a lookup needs to know before it reads its columns is computed
 * for several keys at once. The including file defines
 *
 *     LANES                     64-bit numbers in a register, a type `lanes` of so many
 *     KERNEL_INLINE lanes times(lanes a, lanes b)       products of the low halves
 *     KERNEL_INLINE bool has_zero(lanes a)                   whether any of them is 0
 *     KERNEL_INLINE lanes shapes_at(const int *shapes, lanes pages)    the shapes of pages
 *
 * and all that ribbon_lookup.h wants.
 */
#ifndef BLOOMFILE_KERNEL_RIBBON_LANES_H
#define BLOOMFILE_KERNEL_RIBBON_LANES_H

#define RIBBON_MANY

#include "kernel/ribbon_lookup.h"

#define UNDER_WAY 64 /* lookups; 32 to 128 are equally good */

/* Queries, as in struct ribbon_query; `columns` are offsets in the body. */
struct queries {
    _Alignas(64) uint64_t columns[UNDER_WAY];
    uint64_t row[UNDER_WAY], right[UNDER_WAY], count[UNDER_WAY];
};

KERNEL_INLINE lanes low_half(lanes a)
{
    return a & UINT32_MAX;
}

/* The high halves of the 128-bit products, and the low ones. */
KERNEL_INLINE lanes product(lanes a, uint64_t by, lanes *low)
{
    const lanes b = by - (lanes){ 0 }, b1 = b >> 32, a1 = a >> 32;
    const lanes low_low = times(a, b), cross = times(a1, b);
    const lanes middle = times(a, b1) + (low_low >> 32) + low_half(cross);
    *low = low_half(low_low) | middle << 32;
    return times(a1, b1) + (cross >> 32) + (middle >> 32);
}

KERNEL_INLINE lanes mixed(lanes a, uint64_t by)
{
    lanes low;
    const lanes high = product(a, by, &low);
    return high ^ low;
}

/* The low half of a 128-bit product. */
KERNEL_INLINE lanes multiplied(lanes a, uint64_t by)
{
    const lanes b = by - (lanes){ 0 };
    return times(a, b) + ((times(a >> 32, b) + times(a, b >> 32)) << 32);
}

KERNEL_INLINE lanes known_shapes(const struct kernel_view *view, lanes pages)
{
    /* A gathering load has no atomic form; what it loads was stored whole. */
    lanes shapes = shapes_at((const int *)(uintptr_t)view->shapes, pages);
    if (__builtin_expect(has_zero(shapes), false))
        for (unsigned i = 0; i < LANES; i++)
            shapes[i] = kernel_ribbon_shape(view, pages[i]);
    return shapes;
}

/* ask(), for LANES digests. */
KERNEL_INLINE void ask_lanes(const struct kernel_view *view, const uint64_t *digests,
                             struct queries *q, unsigned at)
{
    lanes digest, unused;
    memcpy(&digest, digests, sizeof digest);
    const lanes page = product(digest, view->units, &unused) / RIBBON_LINES;
    const lanes seedless = mixed(digest ^ RIBBON_MULTIPLIER, PROBE_MULTIPLIER);
    const lanes shape = known_shapes(view, page);
    const lanes blocks = shape & 511, seed = shape >> 9 & 127, fewest = shape >> 16 & 63,
                few = shape >> 22;
    const lanes hash = multiplied(seedless ^ multiplied(seed, PROBE_MULTIPLIER), RIBBON_MULTIPLIER);
    const lanes block = times(hash >> 32, blocks - 1) >> 32;
    const lanes enough = few - 1 - block; /* its top bit: block >= few */
    const lanes count = fewest + (enough >> 63);
    const lanes beyond = (block - few) & -(enough >> 63);
    const lanes columns = page * CHECKSUM_PAGE + RIBBON_HEAD + 4 * (times(block, fewest) + beyond);
    const lanes row = mixed(hash ^ RIBBON_DIFFERENCE, PROBE_MULTIPLIER);
    memcpy(&q->columns[at], &columns, sizeof columns);
    memcpy(&q->row[at], &row, sizeof row);
    memcpy(&q->right[at], &hash, sizeof hash);
    memcpy(&q->count[at], &count, sizeof count);
}

KERNEL_INLINE struct ribbon_query query(const struct kernel_view *view, const struct queries *q,
                                        unsigned at)
{
    return (struct ribbon_query){ view->body + q->columns[at], q->row[at], (uint32_t)q->right[at],
                                  (uint32_t)q->count[at] };
}

/* Loops of their own, so that the processor overlaps the latencies of several steps of each. */
KERNEL_INLINE void ask_some(const struct kernel_view *view, const uint64_t *digests, unsigned n,
                            struct queries *q)
{
    for (unsigned i = 0; i < n; i += LANES)
        ask_lanes(view, digests + i, q, i);
    for (unsigned i = 0; i < n; i++) {
        const struct ribbon_query one = query(view, q, i);
        request(&one);
    }
}

KERNEL_INLINE size_t answer_some(const struct kernel_view *view, const struct queries *q,
                                 unsigned n, bool *hits)
{
    size_t found = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct ribbon_query one = query(view, q, i);
        const bool hit = answer(&one);
        if (hits != NULL)
            hits[i] = hit;
        found += hit;
    }
    return found;
}

KERNEL_INLINE unsigned lesser(size_t n)
{
    return n < UNDER_WAY ? (unsigned)n : UNDER_WAY;
}

/* Whole groups of LANES digests; the rest, and views that remember nothing, one by one. */
KERNEL_TARGET static size_t contains_many(const struct kernel_view *given, const uint64_t *digests,
                                          size_t n, bool *hits)
{
    const struct kernel_view copy = *given, *view = &copy; /* storing hits cannot change it */
    const size_t groups = view->shapes != NULL ? n / LANES * LANES : 0;
    struct queries queries[2];
    size_t found = 0;
    for (size_t i = 0, before = 0, turn = 0; before < groups; turn = 1 - turn) {
        const unsigned ahead = lesser(groups - i);
        ask_some(view, digests + i, ahead, &queries[turn]);
        if (i > before || ahead == 0) {
            found += answer_some(view, &queries[1 - turn], lesser(groups - before),
                                 hits != NULL ? hits + before : NULL);
            before += UNDER_WAY;
        }
        i += ahead;
    }
    return found +
           one_by_one(view, digests + groups, n - groups, hits != NULL ? hits + groups : NULL);
}

#endif
