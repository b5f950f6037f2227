/* SPDX-License-Identifier: MIT
 * The blocked layout, bit by bit: the definition. */
#define KERNEL_TARGET
#include "kernel/blocked.h"
#include "kernel/blocked_part.h"
#include "kernel/blocked_ring.h"
#include "kernel/blocked_set.h"

KERNEL_INLINE bool test_block(const uint8_t *block, unsigned k, uint64_t digest)
{
    uint64_t product = digest;
    for (unsigned i = 0; i < k; i++) {
        if (i % PROBE_SLICES == 0)
            product *= PROBE_MULTIPLIER;
        unsigned bit = probe_slice(product, i % PROBE_SLICES);
        if ((shared_load8(block + bit / 8) >> (bit % 8) & 1) == 0)
            return false;
    }
    return true;
}

static bool contains(const struct kernel_view *view, uint64_t digest)
{
    return kernel_answer(view, test_block(kernel_block(view, digest), view->k, digest));
}

static size_t contains_many(const struct kernel_view *view, const uint64_t *digests, size_t n,
                            bool *hits)
{
    return kernel_ring(view, digests, n, hits, test_block);
}

void kernel_expect_blocked(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    for (size_t i = 0; i < n && !kernel_is_near(view); i++)
        kernel_request(view, digests[i]);
}

static void add_shared(uint8_t *body, uint64_t blocks, unsigned k, const uint64_t *digests,
                       size_t n, bool *was_new, struct kernel_change *change)
{
    kernel_set(body, blocks, k, digests, n, was_new, change, kernel_find_lacks_scalar);
}

const struct kernel kernel_scalar_blocked =
    KERNEL_BLOCKED("scalar", contains, contains_many, add_part, add_shared);
