/* SPDX-License-Identifier: MIT
 *
 * Batch lookups in the classic and counting layouts. In each round all keys that are still possible
 * have their next position tested, so the cache misses of a round overlap.
 *
 * An eager batch tests several positions of a key in one round where that is faster. If nearly all
 * keys pass a round, they are probably present, and one last round tests all remaining positions. A
 * small batch begins with three positions, because each of its rounds waits for memory: 32 present
 * keys of 10^8 take 34 ns each, and 68 in rounds of one position.
 */
#ifndef BLOOMFILE_KERNEL_SCATTERED_ROUNDS_H
#define BLOOMFILE_KERNEL_SCATTERED_ROUNDS_H

#include "format/bytes.h"
#include "format/probe.h"
#include "kernel/kernel.h"

#define KERNEL_CACHED_BYTES (1 << 24) /* bodies up to this size stay in the last-level cache */
#define KERNEL_ROUNDS_KEYS  512       /* keys in a round: 6 KiB of struct kernel_runners */
#define KERNEL_ROUNDS_AHEAD 96        /* lines prefetched ahead; see KERNEL_RING */
#define KERNEL_ROUNDS_NEAR  (1 << 18) /* bodies up to this size stay in the L2 cache */
/* The fewest keys for which rounds pay. With fewer, the end of each round is mispredicted, and no
 * misses overlap after that. Four keys, in rounds and one by one: classic of 10^5 keys 13.9 and 5.3
 * ns a key, of 10^8 keys 82 and 60. */
#define KERNEL_ROUNDS_LEAST  9
#define KERNEL_ROUNDS_FEW    128 /* the most keys of a small batch */
#define KERNEL_ROUNDS_FIRST  3   /* positions in the first round of a small batch */
#define KERNEL_ROUNDS_INLINE static inline __attribute__((always_inline))

KERNEL_ROUNDS_INLINE bool kernel_is_set(const uint8_t *body, enum kernel_density density,
                                        uint64_t x)
{
    const unsigned width = 8 / density, mask = (1u << width) - 1;
    return (shared_load8(body + x / density) >> (x % density * width) & mask) != 0;
}

/* Tests whether position x counts as set. A test with a context may have to verify a page first. */
typedef bool kernel_position_test(const struct kernel_view *view, enum kernel_density density,
                                  uint64_t x, void *context);

KERNEL_ROUNDS_INLINE bool kernel_rounds_set(const struct kernel_view *view,
                                            enum kernel_density density, uint64_t x, void *unused)
{
    (void)unused;
    return kernel_is_set(view->body, density, x);
}

KERNEL_ROUNDS_INLINE bool kernel_rounds_one(const struct kernel_view *view,
                                            enum kernel_density density, uint64_t digest,
                                            kernel_position_test *test, void *context)
{
    uint64_t g = digest;
    for (unsigned i = 0; i < view->k; i++, g *= PROBE_MULTIPLIER) {
        if (!test(view, density, probe_reduce(g, view->units), context))
            return false;
    }
    return true;
}

/* Prefetches the lines of the first `width` positions. */
KERNEL_ROUNDS_INLINE void kernel_rounds_request(const struct kernel_view *view,
                                                enum kernel_density density, uint64_t g,
                                                unsigned width)
{
    for (; width > 0; width--, g *= PROBE_MULTIPLIER)
        __builtin_prefetch(view->body + probe_reduce(g, view->units) / density);
}

/* The keys whose positions so far are all set: their products, and their indexes in the batch. 8
 * more elements than needed, because whole vectors are stored. */
struct kernel_runners {
    uint64_t g[KERNEL_ROUNDS_KEYS + 8];
    uint32_t key[KERNEL_ROUNDS_KEYS + 8];
    size_t count;
};

/* One round: keeps the keys whose next `width` positions are all set. */
typedef void kernel_round(const struct kernel_view *view, enum kernel_density density,
                          struct kernel_runners *r, unsigned width, void *context);

/* A round that calls `test` for each position. */
KERNEL_ROUNDS_INLINE void kernel_rounds_next(const struct kernel_view *view,
                                             enum kernel_density density, struct kernel_runners *r,
                                             unsigned width, kernel_position_test *test,
                                             void *context)
{
    const bool far = view->units / density > KERNEL_ROUNDS_NEAR;
    const size_t ahead = far ? KERNEL_ROUNDS_AHEAD / width + 1 : 0;
    size_t left = 0;
    for (size_t j = 0; j < ahead && j < r->count; j++)
        kernel_rounds_request(view, density, r->g[j], width);
    for (size_t j = 0; j < r->count; j++) {
        uint64_t g = r->g[j];
        bool all = true;
        if (far && j + ahead < r->count)
            kernel_rounds_request(view, density, r->g[j + ahead], width);
        for (unsigned i = 0; i < width; i++, g *= PROBE_MULTIPLIER)
            all &= test(view, density, probe_reduce(g, view->units), context);
        r->g[left] = g;
        r->key[left] = r->key[j];
        left += all;
    }
    r->count = left;
}

KERNEL_ROUNDS_INLINE void kernel_rounds_run(const struct kernel_view *view,
                                            enum kernel_density density, struct kernel_runners *r,
                                            bool eager, kernel_round *round, void *context)
{
    const bool few = eager && r->count <= KERNEL_ROUNDS_FEW;
    unsigned width = few ? KERNEL_ROUNDS_FIRST : 1;
    for (unsigned left = view->k, done; left > 0 && r->count > 0; left -= done) {
        const size_t before = r->count;
        done = width < left ? width : left;
        if (done == 1) /* a constant, so that the compiler drops the loop over positions */
            round(view, density, r, 1, context);
        else
            round(view, density, r, done, context);
        if (eager && 8 * r->count > 7 * before)
            width = left;
    }
}

KERNEL_ROUNDS_INLINE size_t kernel_rounds(const struct kernel_view *given,
                                          enum kernel_density density, const uint64_t *digests,
                                          size_t n, bool *hits, bool eager, kernel_round *round,
                                          void *context)
{
    const struct kernel_view copy = *given,
                             *view = &copy; /* no store to `hits` can change a local copy */
    struct kernel_runners r;
    size_t found = 0;
    for (size_t start = 0; start < n; start += KERNEL_ROUNDS_KEYS) {
        r.count = n - start < KERNEL_ROUNDS_KEYS ? n - start : KERNEL_ROUNDS_KEYS;
        for (size_t j = 0; j < r.count; j++) {
            r.g[j] = digests[start + j];
            r.key[j] = (uint32_t)j;
            if (hits != NULL)
                hits[start + j] = false;
        }
        kernel_rounds_run(view, density, &r, eager, round, context);
        for (size_t j = 0; hits != NULL && j < r.count; j++)
            hits[start + r.key[j]] = true;
        found += r.count;
    }
    return found;
}

/* Looks up fewer than KERNEL_ROUNDS_LEAST keys one by one; their cache misses overlap without
 * rounds. */
KERNEL_ROUNDS_INLINE size_t kernel_rounds_each(const struct kernel_view *view,
                                               const uint64_t *digests, size_t n, bool *hits,
                                               bool (*contains)(const struct kernel_view *view,
                                                                uint64_t digest))
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const bool hit = contains(view, digests[i]);
        if (hits != NULL)
            hits[i] = hit;
        found += hit;
    }
    return found;
}

#endif
