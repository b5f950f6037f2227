/* SPDX-License-Identifier: MIT
 * Lookups in the classic and the counting layout. */
#include "kernel/scattered.h"

#include "kernel/add.h"
#include "kernel/add_shared.h"
#include "kernel/fold.h"
#include "kernel/rounds.h"
#include "kernel/tally.h"

static inline bool is_set(const struct kernel_view *view, enum kernel_density density, uint64_t x,
                          void *unused)
{
    (void)unused;
    return kernel_is_set(view->body, density, x);
}

static bool contains_classic(const struct kernel_view *view, uint64_t digest)
{
    return kernel_answer(view, kernel_rounds_one(view, KERNEL_BITS, digest, is_set, NULL));
}

static size_t contains_many_classic(const struct kernel_view *view, const uint64_t *digests,
                                    size_t n, bool *hits)
{
    return kernel_rounds(view, KERNEL_BITS, digests, n, hits, is_set, NULL);
}

static void expect_classic(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    kernel_rounds_expect(view, KERNEL_BITS, digests, n);
}

static bool contains_counting(const struct kernel_view *view, uint64_t digest)
{
    return kernel_answer(view, kernel_rounds_one(view, KERNEL_COUNTERS, digest, is_set, NULL));
}

static size_t contains_many_counting(const struct kernel_view *view, const uint64_t *digests,
                                     size_t n, bool *hits)
{
    return kernel_rounds(view, KERNEL_COUNTERS, digests, n, hits, is_set, NULL);
}

static void expect_counting(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    kernel_rounds_expect(view, KERNEL_COUNTERS, digests, n);
}

const struct kernel kernel_scalar_classic = {
    "scalar",
    contains_classic,
    contains_many_classic,
    expect_classic,
    kernel_add_part_classic,
    kernel_add_shared_classic,
    kernel_tally_classic,
    kernel_fold_classic,
};
const struct kernel kernel_scalar_counting = {
    "scalar",
    contains_counting,
    contains_many_counting,
    expect_counting,
    kernel_add_part_counting,
    kernel_add_shared_counting,
    kernel_tally_counting,
    kernel_fold_counting,
};
