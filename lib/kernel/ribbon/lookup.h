/* SPDX-License-Identifier: MIT
 *
 * Lookups in the layout ribbon with one set of instructions. The including file defines
 * KERNEL_TARGET, the attributes that let a function use them, and the function
 *
 *     KERNEL_INLINE bool fits(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
 *
 * that compares a key's equations with `count` columns (0 to 32) of its first block, behind which
 * those of the second one lie. It must not read outside of these 8 * count bytes: a load that
 * reaches into a line that was not requested waits for it. RIBBON_MANY: it has a contains_many() of
 * its own.
 */
#ifndef BLOOMFILE_KERNEL_RIBBON_LOOKUP_H
#define BLOOMFILE_KERNEL_RIBBON_LOOKUP_H

#include "kernel/ribbon/page.h"

#define RIBBON_AHEAD 64 /* lookups under way; 24 to 96 are equally good */

/* All that a lookup needs once its page's shape is known. */
struct ribbon_query {
    const uint8_t *columns, *end;
    uint64_t row;
    uint32_t right, count;
};

KERNEL_INLINE struct ribbon_query ask_page(const struct kernel_view *view, uint64_t page,
                                           uint64_t seedless, uint32_t shape)
{
    const uint64_t hash = ribbon_hash(seedless, ribbon_seed(shape));
    const unsigned block = ribbon_block(hash, ribbon_blocks(shape));
    const struct ribbon_columns of = ribbon_columns(shape, block);
    const uint8_t *const columns = view->body + page * CHECKSUM_PAGE + RIBBON_HEAD + 4 * of.place;
    return (struct ribbon_query){
        .columns = columns,
        .end = columns + 8 * of.count,
        .row = ribbon_row(hash),
        .right = (uint32_t)hash,
        .count = (uint32_t)of.count,
    };
}

KERNEL_INLINE struct ribbon_query ask(const struct kernel_view *view, uint64_t digest)
{
    const uint64_t page = probe_reduce(digest, view->units) / RIBBON_LINES;
    return ask_page(view, page, ribbon_seedless(digest), kernel_ribbon_shape(view, page));
}

KERNEL_INLINE bool answer(const struct ribbon_query *q)
{
    return fits(q->columns, q->count, q->row, q->right);
}

/* Two lines, or three. More only where all have more than two: no branch is hard to predict. */
KERNEL_INLINE void request(const uint8_t *columns, const uint8_t *end)
{
    const size_t size = (size_t)(end - columns);
    __builtin_prefetch(columns);
    __builtin_prefetch(columns + size / 2);
    __builtin_prefetch(end - 1);
    if (size > 2 * PROBE_BLOCK_BYTES) {
        __builtin_prefetch(columns + PROBE_BLOCK_BYTES);
        __builtin_prefetch(end - 1 - PROBE_BLOCK_BYTES);
    }
}

/* Where the head of the page is not known. */
KERNEL_ALONE bool contains_unknown(const struct kernel_view *view, uint64_t digest)
{
    const struct ribbon_query q = ask(view, digest);
    return answer(&q);
}

/* Few instructions, and no frame: the processor overlaps the cache misses of several calls. */
KERNEL_TARGET static bool contains(const struct kernel_view *view, uint64_t digest)
{
    const uint64_t page = probe_reduce(digest, view->units) / RIBBON_LINES;
    if (view->shapes == NULL)
        return contains_unknown(view, digest);
    const uint32_t shape = atomic_load_explicit(&view->shapes[page], memory_order_relaxed);
    if (shape == 0)
        return contains_unknown(view, digest);
    const struct ribbon_query q = ask_page(view, page, ribbon_seedless(digest), shape);
    return answer(&q);
}

KERNEL_INLINE size_t one_by_one(const struct kernel_view *view, const uint64_t *digests, size_t n,
                                bool *hits)
{
    struct ribbon_query ring[RIBBON_AHEAD];
    const size_t first = n < RIBBON_AHEAD ? n : RIBBON_AHEAD;
    size_t found = 0;
    for (size_t i = 0; i < first; i++) {
        ring[i] = ask(view, digests[i]);
        request(ring[i].columns, ring[i].end);
    }
    for (size_t i = 0; i < n; i++) {
        struct ribbon_query *q = &ring[i % RIBBON_AHEAD];
        const bool hit = answer(q);
        if (hits != NULL)
            hits[i] = hit;
        found += hit;
        if (i + RIBBON_AHEAD < n) {
            *q = ask(view, digests[i + RIBBON_AHEAD]);
            request(q->columns, q->end);
        }
    }
    return found;
}

#ifndef RIBBON_MANY
KERNEL_TARGET static size_t contains_many(const struct kernel_view *given, const uint64_t *digests,
                                          size_t n, bool *hits)
{
    const struct kernel_view view = *given; /* storing hits cannot change it */
    return one_by_one(&view, digests, n, hits);
}
#endif

#endif
