/* SPDX-License-Identifier: MIT
 *
 * Lookups in the classic and the counting layout.
 *
 * A batch goes through its positions in rounds: in round i the keys whose position i is set go on
 * to round i + 1, and the cache lines of these positions are requested. So a key costs as many
 * lines as it has positions up to the first that is not set (two, for an absent key of a well
 * filled filter, not k), many lines are under way at once, and no branch depends on a bit.
 */
#include "kernel_scattered.h"

#include "kernel_add.h"
#include "kernel_fold.h"
#include "kernel_shared.h"
#include "kernel_tally.h"
#include "probe.h"
#include "shared.h"

#define CHUNK  512 /* keys that go through the rounds together */
#define INLINE static inline __attribute__((always_inline))

/* Positions in a byte of the body. */
enum density {
    BITS = 8,
    COUNTERS = 2,
};

INLINE bool is_set(const uint8_t *body, enum density density, uint64_t x)
{
    const unsigned width = 8 / density, mask = (1u << width) - 1;
    return (shared_load8(body + x / density) >> (x % density * width) & mask) != 0;
}

INLINE bool contains(const struct kernel_view *view, enum density density, uint64_t digest)
{
    uint64_t g = digest;
    for (unsigned i = 0; i < view->k; i++, g *= PROBE_MULTIPLIER) {
        if (!is_set(view->body, density, probe_reduce(g, view->units)))
            return false;
    }
    return true;
}

INLINE void expect(const struct kernel_view *view, enum density density, const uint64_t *g,
                   size_t n)
{
    for (size_t j = 0; j < n; j++)
        __builtin_prefetch(view->body + probe_reduce(g[j], view->units) / density);
}

/* The keys that are still in the running: their products, and their places in the batch. */
struct runners {
    uint64_t g[CHUNK];
    uint32_t key[CHUNK];
    size_t count;
};

INLINE void next_round(const struct kernel_view *view, enum density density, struct runners *r)
{
    size_t left = 0;
    for (size_t j = 0; j < r->count; j++) {
        const uint64_t g = r->g[j];
        r->g[left] = g * PROBE_MULTIPLIER;
        r->key[left] = r->key[j];
        left += is_set(view->body, density, probe_reduce(g, view->units));
    }
    r->count = left;
}

INLINE size_t contains_many(const struct kernel_view *view, enum density density,
                            const uint64_t *digests, size_t n, bool *hits)
{
    struct runners r;
    size_t found = 0;
    for (size_t start = 0; start < n; start += CHUNK) {
        r.count = n - start < CHUNK ? n - start : CHUNK;
        for (size_t j = 0; j < r.count; j++) {
            r.g[j] = digests[start + j];
            r.key[j] = (uint32_t)j;
            if (hits != NULL)
                hits[start + j] = false;
        }
        for (unsigned i = 0; i < view->k && r.count > 0; i++) {
            expect(view, density, r.g, r.count);
            next_round(view, density, &r);
        }
        for (size_t j = 0; hits != NULL && j < r.count; j++)
            hits[start + r.key[j]] = true;
        found += r.count;
    }
    return found;
}

static bool contains_classic(const struct kernel_view *view, uint64_t digest)
{
    return contains(view, BITS, digest);
}

static size_t contains_many_classic(const struct kernel_view *view, const uint64_t *digests,
                                    size_t n, bool *hits)
{
    return contains_many(view, BITS, digests, n, hits);
}

static void expect_classic(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    expect(view, BITS, digests, n);
}

static bool contains_counting(const struct kernel_view *view, uint64_t digest)
{
    return contains(view, COUNTERS, digest);
}

static size_t contains_many_counting(const struct kernel_view *view, const uint64_t *digests,
                                     size_t n, bool *hits)
{
    return contains_many(view, COUNTERS, digests, n, hits);
}

static void expect_counting(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    expect(view, COUNTERS, digests, n);
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
