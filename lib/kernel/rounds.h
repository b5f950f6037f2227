/* SPDX-License-Identifier: MIT
 *
 * A batch of lookups in the classic or the counting layout.
 *
 * It goes through its positions in rounds: in round i the keys whose position i is set go on to
 * round i + 1, and the cache lines of these positions are requested. So a key costs as many lines
 * as it has positions up to the first that is not set (two, for an absent key of a well filled
 * filter, not k), many lines are under way at once, and no branch depends on a bit.
 */
#ifndef BLOOMFILE_KERNEL_ROUNDS_H
#define BLOOMFILE_KERNEL_ROUNDS_H

#include "format/probe.h"
#include "format/shared.h"
#include "kernel/kernel.h"

#define KERNEL_ROUNDS_KEYS   512 /* keys in the rounds together */
#define KERNEL_ROUNDS_INLINE static inline __attribute__((always_inline))

KERNEL_ROUNDS_INLINE bool kernel_is_set(const uint8_t *body, enum kernel_density density,
                                        uint64_t x)
{
    const unsigned width = 8 / density, mask = (1u << width) - 1;
    return (shared_load8(body + x / density) >> (x % density * width) & mask) != 0;
}

/* Whether position x counts as set. */
typedef bool kernel_position_test(const struct kernel_view *view, enum kernel_density density,
                                  uint64_t x, void *context);

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

KERNEL_ROUNDS_INLINE void kernel_rounds_expect(const struct kernel_view *view,
                                               enum kernel_density density, const uint64_t *g,
                                               size_t n)
{
    for (size_t j = 0; j < n; j++)
        __builtin_prefetch(view->body + probe_reduce(g[j], view->units) / density);
}

/* The keys still in the running: their products, and their places in the batch. */
struct kernel_runners {
    uint64_t g[KERNEL_ROUNDS_KEYS];
    uint32_t key[KERNEL_ROUNDS_KEYS];
    size_t count;
};

KERNEL_ROUNDS_INLINE void kernel_rounds_next(const struct kernel_view *view,
                                             enum kernel_density density, struct kernel_runners *r,
                                             kernel_position_test *test, void *context)
{
    size_t left = 0;
    for (size_t j = 0; j < r->count; j++) {
        const uint64_t g = r->g[j];
        r->g[left] = g * PROBE_MULTIPLIER;
        r->key[left] = r->key[j];
        left += test(view, density, probe_reduce(g, view->units), context);
    }
    r->count = left;
}

KERNEL_ROUNDS_INLINE size_t kernel_rounds(const struct kernel_view *view,
                                          enum kernel_density density, const uint64_t *digests,
                                          size_t n, bool *hits, kernel_position_test *test,
                                          void *context)
{
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
        for (unsigned i = 0; i < view->k && r.count > 0; i++) {
            kernel_rounds_expect(view, density, r.g, r.count);
            kernel_rounds_next(view, density, &r, test, context);
        }
        for (size_t j = 0; hits != NULL && j < r.count; j++)
            hits[start + r.key[j]] = true;
        found += r.count;
    }
    return found;
}

#endif
