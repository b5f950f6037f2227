/* SPDX-License-Identifier: MIT
 * Adds in the classic and counting layouts to a body that other threads and processes change. When
 * adders race, each missing bit is set by exactly one of them, and each step of a counter is made
 * by one. An add reports its key as new if it set a bit or raised a counter from 0; so of several
 * adders of the same new key, at least one reports it as new. Words that already have the bits are
 * not written, so that their pages remain clean. */
#include "kernel/kernel.h"

#include "format/bytes.h"
#include "format/min.h"
#include "format/probe.h"

#define CHUNK         64  /* keys whose lines are prefetched before the first is added */
#define COUNTER_STUCK 15u /* a counter at its maximum: no add or remove changes it */

static void record(bool *was_new, size_t i, bool is_new, struct kernel_change *change)
{
    if (was_new != NULL)
        was_new[i] = is_new;
    change->keys += is_new;
}

/* ---- both layouts */

static void expect_cells(const uint8_t *body, uint64_t units, unsigned per_byte, unsigned k,
                         const uint64_t *digests, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        uint64_t g = digests[j];
        for (unsigned i = 0; i < k; i++, g *= PROBE_MULTIPLIER)
            __builtin_prefetch(body + probe_reduce(g, units) / per_byte);
    }
}

/* ---- classic */

typedef uint64_t change_word(void *aligned, uint64_t bits);

static inline void add_to_classic(uint8_t *body, uint64_t bits, unsigned k, const uint64_t *digests,
                                  size_t n, bool *was_new, struct kernel_change *change,
                                  change_word *set)
{
    for (size_t start = 0, count; (count = MIN(n - start, CHUNK)) > 0; start += count) {
        expect_cells(body, bits, 8, k, digests + start, count);
        for (size_t j = start; j < start + count; j++) {
            unsigned ones = 0;
            uint64_t g = digests[j];
            for (unsigned i = 0; i < k; i++, g *= PROBE_MULTIPLIER) {
                const uint64_t bit = probe_reduce(g, bits), one = 1ULL << bit % 64;
                uint8_t *word = body + bit / 64 * 8;
                ones += (shared_load64(word) & one) == 0 && set(word, one) != 0;
            }
            change->ones += ones;
            record(was_new, j, ones > 0, change);
        }
    }
}

void kernel_add_shared_classic(uint8_t *body, uint64_t bits, unsigned k, const uint64_t *digests,
                               size_t n, bool *was_new, struct kernel_change *change)
{
    add_to_classic(body, bits, k, digests, n, was_new, change, shared_set64);
}

void kernel_add_alone_classic(uint8_t *body, uint64_t bits, unsigned k, const uint64_t *digests,
                              size_t n, bool *was_new, struct kernel_change *change)
{
    add_to_classic(body, bits, k, digests, n, was_new, change, shared_set64_alone);
}

/* ---- counting */

/* Increments or decrements a counter, except at 15, and at 0 when decrementing. Returns its former
 * value. */
static unsigned step_counter(uint8_t *body, uint64_t j, int by)
{
    uint8_t *byte = body + j / 2, seen = shared_load8(byte);
    const unsigned shift = 4 * (j % 2);
    for (;;) {
        unsigned value = seen >> shift & 15u;
        if (value == COUNTER_STUCK || (value == 0 && by < 0))
            return value;
        if (shared_change8(byte, &seen, (uint8_t)(seen + by * (1 << shift))))
            return value;
    }
}

void kernel_add_shared_counting(uint8_t *body, uint64_t counters, unsigned k,
                                const uint64_t *digests, size_t n, bool *was_new,
                                struct kernel_change *change)
{
    for (size_t start = 0, count; (count = MIN(n - start, CHUNK)) > 0; start += count) {
        expect_cells(body, counters, 2, k, digests + start, count);
        for (size_t j = start; j < start + count; j++) {
            unsigned raised = 0;
            uint64_t g = digests[j];
            for (unsigned i = 0; i < k; i++, g *= PROBE_MULTIPLIER) {
                unsigned before = step_counter(body, probe_reduce(g, counters), +1);
                raised += before == 0;
                change->overflow += before == COUNTER_STUCK - 1;
            }
            change->ones += raised;
            record(was_new, j, raised > 0, change);
        }
    }
}

/* Returns whether all counters are as high as one add of the key would raise them: if the key has
 * the same position twice, its counter was raised twice. */
static bool may_have(const uint8_t *body, const uint64_t *x, unsigned k)
{
    for (unsigned i = 0; i < k; i++) {
        unsigned value = shared_load8(body + x[i] / 2) >> (4 * (x[i] % 2)) & 15u, needed = 0;
        for (unsigned j = 0; j < k; j++)
            needed += x[j] == x[i];
        if (value < needed && value < COUNTER_STUCK)
            return false;
    }
    return true;
}

bool kernel_remove_shared_counting(uint8_t *body, uint64_t counters, unsigned k, uint64_t digest,
                                   struct kernel_change *change)
{
    uint64_t x[BLOOMFILE_MAX_HASHES], g = digest;
    for (unsigned i = 0; i < k; i++, g *= PROBE_MULTIPLIER)
        x[i] = probe_reduce(g, counters);
    if (!may_have(body, x, k))
        return false;
    unsigned fell_to_0 = 0;
    for (unsigned i = 0; i < k; i++)
        fell_to_0 += step_counter(body, x[i], -1) == 1;
    change->ones -= fell_to_0;
    change->keys -= fell_to_0 > 0;
    return true;
}
