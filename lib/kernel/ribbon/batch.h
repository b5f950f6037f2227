/* SPDX-License-Identifier: MIT
 *
 * Batches in the layout ribbon: what a lookup needs to know before it reads its columns is computed
 * for several keys at once. The including file defines
 *
 *     LANES                                       64-bit numbers in a register
 *     lanes                                       a type of so many
 *     KERNEL_INLINE lanes times(lanes a, lanes b) products of the low halves
 *
 * and all that lookup.h wants.
 */
#ifndef BLOOMFILE_KERNEL_RIBBON_BATCH_H
#define BLOOMFILE_KERNEL_RIBBON_BATCH_H

#define RIBBON_MANY

#include "kernel/ribbon/lookup.h"

#define UNDER_WAY 64 /* lookups; 32 are too few for memory, 128 too many for the nearest cache */

/* Queries, as in struct ribbon_query, and what they are made of. */
struct queries {
    _Alignas(64) uint64_t columns[UNDER_WAY]; /* first: the page */
    uint64_t end[UNDER_WAY];                  /* of the columns; first: the page's shape */
    uint64_t row[UNDER_WAY];                  /* first: seedless */
    uint64_t right[UNDER_WAY], count[UNDER_WAY];
};

KERNEL_INLINE lanes low_half(lanes a)
{
    return a & UINT32_MAX;
}

/* The high halves of the 128-bit products. */
KERNEL_INLINE lanes reduced(lanes a, uint64_t by)
{
    const lanes b = by - (lanes){ 0 }, b1 = b >> 32, a1 = a >> 32;
    const lanes cross = times(a1, b), middle = times(a, b1) + (times(a, b) >> 32) + low_half(cross);
    return times(a1, b1) + (cross >> 32) + (middle >> 32);
}

KERNEL_INLINE lanes mixed(lanes a, uint64_t by)
{
    return reduced(a, by) ^ a * by;
}

KERNEL_INLINE lanes load(const uint64_t *from)
{
    lanes a;
    memcpy(&a, from, sizeof a);
    return a;
}

KERNEL_INLINE void store(uint64_t *to, lanes a)
{
    memcpy(to, &a, sizeof a);
}

/* What a query consists of before the page's shape is known. */
KERNEL_INLINE void ask_for_page(const struct kernel_view *view, const uint64_t *digests,
                                struct queries *q, unsigned at)
{
    const lanes digest = load(digests);
    store(&q->columns[at], reduced(digest, view->units) / RIBBON_LINES);
    store(&q->row[at], mixed(digest ^ RIBBON_MULTIPLIER, PROBE_MULTIPLIER));
}

/* ask_page(), for LANES of them. */
KERNEL_INLINE void ask_in_page(const struct kernel_view *view, struct queries *q, unsigned at)
{
    const lanes page = load(&q->columns[at]), shape = load(&q->end[at]),
                seedless = load(&q->row[at]);
    const lanes blocks = shape & 511, seed = shape >> 9 & 127, fewest = shape >> 16 & 63,
                few = shape >> 22;
    const lanes hash = (seedless ^ seed * PROBE_MULTIPLIER) * RIBBON_MULTIPLIER;
    const lanes block = times(hash >> 32, blocks - 1) >> 32;
    const lanes beyond = block - few, is_few = -(beyond >> 63);
    const lanes count = fewest + 1 + is_few;
    const lanes columns = (uintptr_t)view->body + RIBBON_HEAD + page * CHECKSUM_PAGE +
                          4 * (times(block, fewest) + (beyond & ~is_few));
    store(&q->columns[at], columns);
    store(&q->end[at], columns + 8 * count);
    store(&q->row[at], mixed(hash ^ RIBBON_DIFFERENCE, PROBE_MULTIPLIER));
    store(&q->right[at], hash);
    store(&q->count[at], count);
}

KERNEL_INLINE struct ribbon_query query(const struct queries *q, unsigned at)
{
    return (struct ribbon_query){ .columns = (const uint8_t *)(uintptr_t)q->columns[at],
                                  .end = (const uint8_t *)(uintptr_t)q->end[at],
                                  .row = q->row[at],
                                  .right = (uint32_t)q->right[at],
                                  .count = (uint32_t)q->count[at] };
}

KERNEL_INLINE void request_of(const struct queries *q, unsigned at)
{
    request((const uint8_t *)(uintptr_t)q->columns[at], (const uint8_t *)(uintptr_t)q->end[at]);
}

/* Loops of their own, so that the processor overlaps the latencies of several steps of each. */
KERNEL_ALONE void ask_some(const struct kernel_view *view, const uint64_t *digests, unsigned n,
                           struct queries *q)
{
    for (unsigned i = 0; i < n; i += LANES)
        ask_for_page(view, digests + i, q, i);
    for (unsigned i = 0; i < n; i++)
        q->end[i] = kernel_ribbon_shape(view, q->columns[i]);
    for (unsigned i = 0; i < n; i += LANES)
        ask_in_page(view, q, i);
}

/* Answers `n` queries, and requests the lines of as many, or fewer, of the next: spread like this,
 * requests seldom wait for each other. */
KERNEL_ALONE size_t answer_some(const struct queries *q, unsigned n, bool *hits,
                                const struct queries *next, unsigned n_next)
{
    size_t found = 0;
    for (unsigned i = 0; i < n; i++) {
        if (i < n_next)
            request_of(next, i);
        const struct ribbon_query one = query(q, i);
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
    struct queries queries[2], *asked = &queries[0], *next = &queries[1];
    size_t found = 0;
    ask_some(view, digests, lesser(groups), asked);
    for (unsigned i = 0; i < lesser(groups); i++)
        request_of(asked, i);
    for (size_t i = 0; i < groups; i += UNDER_WAY) {
        const unsigned n_asked = lesser(groups - i), n_next = lesser(groups - i - n_asked);
        ask_some(view, digests + i + n_asked, n_next, next);
        found += answer_some(asked, n_asked, hits != NULL ? hits + i : NULL, next, n_next);
        struct queries *const answered = asked;
        asked = next;
        next = answered;
    }
    return found +
           one_by_one(view, digests + groups, n - groups, hits != NULL ? hits + groups : NULL);
}

#endif
