/* SPDX-License-Identifier: MIT
 * Lookups in the classic and the counting layout. */
#include "kernel/scattered/scattered.h"

#include "kernel/functions.h"
#include "kernel/scattered/rounds.h"

/* In a cache, testing all positions takes less time than a branch that is guessed wrong. */
static inline bool contains(const struct kernel_view *view, enum kernel_density density,
                            uint64_t digest)
{
    const uint8_t *body = view->body;
    const uint64_t units = view->units;
    uint64_t g = digest;
    bool all = true;
    if (units > (uint64_t)density * KERNEL_CACHED_BYTES)
        return kernel_rounds_one(view, density, digest, kernel_rounds_set, NULL);
    for (unsigned left = view->k; left > 0; left--, g *= PROBE_MULTIPLIER)
        all &= kernel_is_set(body, density, probe_reduce(g, units));
    return all;
}

static bool contains_classic(const struct kernel_view *view, uint64_t digest)
{
    return contains(view, KERNEL_BITS, digest);
}

static inline void next_round(const struct kernel_view *view, enum kernel_density density,
                              struct kernel_runners *r, unsigned width, void *unused)
{
    kernel_rounds_next(view, density, r, width, kernel_rounds_set, unused);
}

/* A loop whose time depends by a fifth on its place in a cache line of code. */
#define IN_PLACE __attribute__((aligned(64)))

IN_PLACE static size_t contains_many_classic(const struct kernel_view *view,
                                             const uint64_t *digests, size_t n, bool *hits)
{
    if (n < KERNEL_ROUNDS_LEAST)
        return kernel_rounds_each(view, digests, n, hits, contains_classic);
    return kernel_rounds(view, KERNEL_BITS, digests, n, hits, true, next_round, NULL);
}

void kernel_expect_classic(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    for (size_t i = 0; i < n; i++)
        kernel_rounds_request(view, KERNEL_BITS, digests[i], 1);
}

static bool contains_counting(const struct kernel_view *view, uint64_t digest)
{
    return contains(view, KERNEL_COUNTERS, digest);
}

IN_PLACE static size_t contains_many_counting(const struct kernel_view *view,
                                              const uint64_t *digests, size_t n, bool *hits)
{
    if (n < KERNEL_ROUNDS_LEAST)
        return kernel_rounds_each(view, digests, n, hits, contains_counting);
    return kernel_rounds(view, KERNEL_COUNTERS, digests, n, hits, true, next_round, NULL);
}

void kernel_expect_counting(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    for (size_t i = 0; i < n; i++)
        kernel_rounds_request(view, KERNEL_COUNTERS, digests[i], 1);
}

const struct kernel kernel_scalar_classic =
    KERNEL_CLASSIC("scalar", contains_classic, contains_many_classic);
const struct kernel kernel_scalar_counting =
    KERNEL_COUNTING("scalar", contains_counting, contains_many_counting);
