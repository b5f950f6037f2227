/* SPDX-License-Identifier: MIT */
#include "kernel_scalar.h"

#include "kernel_add.h"
#include "kernel_fold.h"
#include "kernel_shared.h"
#include "kernel_tally.h"
#include "probe.h"
#include "shared.h"

#define CHUNK 64 /* lookups whose cache lines are under way at once */

static inline size_t record(bool *hits, size_t i, bool hit)
{
    if (hits != NULL)
        hits[i] = hit;
    return hit;
}

/* ---- blocked */

static bool block_contains(const uint8_t *block, unsigned k, uint64_t digest)
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

static bool blocked_contains(const uint8_t *body, uint64_t blocks, unsigned k, uint64_t digest)
{
    return block_contains(body + PROBE_BLOCK_BYTES * probe_reduce(digest, blocks), k, digest);
}

static size_t blocked_contains_many(const uint8_t *body, uint64_t blocks, unsigned k,
                                    const uint64_t *digests, size_t n, bool *hits)
{
    const uint8_t *block[CHUNK];
    size_t found = 0;
    for (size_t start = 0; start < n; start += CHUNK) {
        size_t count = n - start < CHUNK ? n - start : CHUNK;
        for (size_t i = 0; i < count; i++) {
            block[i] = body + PROBE_BLOCK_BYTES * probe_reduce(digests[start + i], blocks);
            __builtin_prefetch(block[i]);
        }
        for (size_t i = 0; i < count; i++)
            found += record(hits, start + i, block_contains(block[i], k, digests[start + i]));
    }
    return found;
}

/* ---- classic */

static bool classic_contains(const uint8_t *body, uint64_t bits, unsigned k, uint64_t digest)
{
    uint64_t g = digest;
    for (unsigned i = 0; i < k; i++, g *= PROBE_MULTIPLIER) {
        uint64_t bit = probe_reduce(g, bits);
        if ((shared_load8(body + bit / 8) >> (bit % 8) & 1) == 0)
            return false;
    }
    return true;
}

/* ---- counting */

static inline unsigned counter(const uint8_t *body, uint64_t j)
{
    return shared_load8(body + j / 2) >> (4 * (j % 2)) & 15u;
}

static bool counting_contains(const uint8_t *body, uint64_t counters, unsigned k, uint64_t digest)
{
    uint64_t g = digest;
    for (unsigned i = 0; i < k; i++, g *= PROBE_MULTIPLIER) {
        if (counter(body, probe_reduce(g, counters)) == 0)
            return false;
    }
    return true;
}

/* ---- classic and counting alike: the k lines of a chunk of keys are requested ahead */

static inline size_t
scattered_contains_many(const uint8_t *body, uint64_t units, unsigned units_per_byte, unsigned k,
                        const uint64_t *digests, size_t n, bool *hits,
                        bool (*contains)(const uint8_t *, uint64_t, unsigned, uint64_t))
{
    size_t found = 0;
    for (size_t start = 0; start < n; start += CHUNK) {
        size_t count = n - start < CHUNK ? n - start : CHUNK;
        for (size_t j = start; j < start + count; j++) {
            uint64_t g = digests[j];
            for (unsigned i = 0; i < k; i++, g *= PROBE_MULTIPLIER)
                __builtin_prefetch(body + probe_reduce(g, units) / units_per_byte);
        }
        for (size_t j = start; j < start + count; j++)
            found += record(hits, j, contains(body, units, k, digests[j]));
    }
    return found;
}

static size_t classic_contains_many(const uint8_t *body, uint64_t bits, unsigned k,
                                    const uint64_t *digests, size_t n, bool *hits)
{
    return scattered_contains_many(body, bits, 8, k, digests, n, hits, classic_contains);
}

static size_t counting_contains_many(const uint8_t *body, uint64_t counters, unsigned k,
                                     const uint64_t *digests, size_t n, bool *hits)
{
    return scattered_contains_many(body, counters, 2, k, digests, n, hits, counting_contains);
}

const struct kernel kernel_scalar_blocked = {
    "scalar",
    blocked_contains,
    blocked_contains_many,
    kernel_add_part_blocked,
    kernel_add_shared_blocked,
    kernel_tally_blocked,
    kernel_fold_blocked,
};
const struct kernel kernel_scalar_classic = {
    "scalar",
    classic_contains,
    classic_contains_many,
    kernel_add_part_classic,
    kernel_add_shared_classic,
    kernel_tally_classic,
    kernel_fold_classic,
};
const struct kernel kernel_scalar_counting = {
    "scalar",
    counting_contains,
    counting_contains_many,
    kernel_add_part_counting,
    kernel_add_shared_counting,
    kernel_tally_counting,
    kernel_fold_counting,
};
