/* SPDX-License-Identifier: MIT
 * Adds in the classic and counting layouts to a body that only the caller uses: plain stores to
 * prefetched lines. */
#include "kernel/kernel.h"

#include "format/probe.h"

#define POSITIONS  512       /* positions prefetched before the first is set: 4 KiB of stack */
#define NEAR_BYTES (1 << 15) /* bodies up to this size stay in an L1 cache of 32 KiB */
#define AHEAD      64        /* how many positions ahead put_positions() prefetches */

/* Inlined, so that `set` is a constant: a call for each position takes twice as long. */
#define INLINE static inline __attribute__((always_inline))

static inline void set_bit(uint8_t *part, uint64_t bit)
{
    part[bit / 8] |= (uint8_t)(1u << bit % 8);
}

/* Adds to a whole body in the L1 cache, where collecting positions would double the time. */
INLINE void add_near(uint8_t *body, uint64_t units, unsigned k, const uint64_t *digests, size_t n,
                     void (*set)(uint8_t *part, uint64_t position))
{
    for (size_t j = 0; j < n; j++) {
        uint64_t g = digests[j];
        for (unsigned i = 0; i < k; i++, g *= PROBE_MULTIPLIER)
            set(body, probe_reduce(g, units));
    }
}

/* Collects the positions within the `size` units from `first` on, prefetches their cache lines, and
 * sets them when the list is full. */
INLINE void add_scattered(uint8_t *part, uint64_t first, uint64_t size, uint64_t units,
                          unsigned units_per_byte, unsigned k, const uint64_t *digests, size_t n,
                          void (*set)(uint8_t *part, uint64_t position))
{
    uint64_t positions[POSITIONS];
    size_t count = 0;
    if (size == units && units / units_per_byte <= NEAR_BYTES) {
        add_near(part, units, k, digests, n, set);
        return;
    }
    for (size_t j = 0; j < n; j++) {
        uint64_t g = digests[j];
        size_t requested = count;
        for (unsigned i = 0; i < k; i++, g *= PROBE_MULTIPLIER) {
            positions[count] = probe_reduce(g, units) - first;
            count += positions[count] < size;
        }
        for (; requested < count; requested++)
            __builtin_prefetch(part + positions[requested] / units_per_byte, 1);
        if (count <= POSITIONS - BLOOMFILE_MAX_HASHES && j + 1 < n)
            continue;
        for (size_t i = 0; i < count; i++)
            set(part, positions[i]);
        count = 0;
    }
}

void kernel_add_part_classic(uint8_t *part, uint64_t first, uint64_t last, uint64_t bits,
                             unsigned k, const uint64_t *digests, size_t n,
                             struct kernel_idle *idle)
{
    (void)idle;
    add_scattered(part, first, last - first, bits, 8, k, digests, n, set_bit);
}

static inline void count_up(uint8_t *part, uint64_t counter)
{
    unsigned shift = 4 * (counter % 2);
    if ((part[counter / 2] >> shift & 15) < 15)
        part[counter / 2] = (uint8_t)(part[counter / 2] + (1u << shift));
}

void kernel_add_part_counting(uint8_t *part, uint64_t first, uint64_t last, uint64_t counters,
                              unsigned k, const uint64_t *digests, size_t n,
                              struct kernel_idle *idle)
{
    (void)idle;
    add_scattered(part, first, last - first, counters, 2, k, digests, n, count_up);
}

static inline void put_positions(uint8_t *part, unsigned units_per_byte, const uint32_t *positions,
                                 size_t n, void (*set)(uint8_t *part, uint64_t position))
{
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(part + positions[i + AHEAD] / units_per_byte, 1);
        set(part, positions[i]);
    }
}

void kernel_put_classic(uint8_t *part, const uint32_t *positions, size_t n)
{
    put_positions(part, 8, positions, n, set_bit);
}

void kernel_put_counting(uint8_t *part, const uint32_t *positions, size_t n)
{
    put_positions(part, 2, positions, n, count_up);
}
