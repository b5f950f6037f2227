/* SPDX-License-Identifier: MIT */
#include "kernel_add.h"

#include "bytes.h"
#include "probe.h"

#define POSITIONS 512 /* whose cache lines are under way at once */
#define MANY      8   /* keys of a block, for which its bits are put together elsewhere */

/* Calls set(bits, bit) for the positions of all these digests in their block. */
static inline void set_in_block(uint8_t *bits, unsigned k, const uint64_t *digests, size_t n,
                                void (*set)(uint8_t *bits, uint64_t bit))
{
    for (size_t j = 0; j < n; j++) {
        uint64_t product = digests[j];
        for (unsigned left = k; left > 0;) {
            const unsigned slices = left < PROBE_SLICES ? left : PROBE_SLICES;
            product *= PROBE_MULTIPLIER;
            for (unsigned i = 0; i < slices; i++)
                set(bits, probe_slice(product, i));
            left -= slices;
        }
    }
}

static inline void set_bit(uint8_t *part, uint64_t bit)
{
    part[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static inline void set_byte(uint8_t *bytes, uint64_t byte)
{
    bytes[byte] = 1;
}

/* The lowest bits of 8 bytes, which are 0 or 1. */
static inline uint8_t pack(const uint8_t *bytes)
{
    return (uint8_t)((get64(bytes) * 0x0102040810204080u) >> 56);
}

/* Bytes are written without being read before, which bits cannot be: a bit has to wait until the
 * processor knows whether the one before went to the same byte. */
static void add_many_to_block(uint8_t *block, unsigned k, const uint64_t *digests, size_t n)
{
    uint8_t bytes[PROBE_BLOCK_BITS] = { 0 };
    set_in_block(bytes, k, digests, n, set_byte);
    for (unsigned i = 0; i < PROBE_BLOCK_BYTES; i++)
        block[i] |= pack(bytes + 8 * i);
}

void kernel_add_part_blocked(uint8_t *part, uint64_t first, uint64_t last, uint64_t blocks,
                             unsigned k, const uint64_t *digests, size_t n)
{
    (void)last;
    for (size_t from = 0, to; from < n; from = to) {
        const uint64_t block = probe_reduce(digests[from], blocks);
        for (to = from + 1; to < n && probe_reduce(digests[to], blocks) == block; to++)
            ;
        uint8_t *at = part + PROBE_BLOCK_BYTES * (block - first);
        if (to - from >= MANY)
            add_many_to_block(at, k, digests + from, to - from);
        else
            set_in_block(at, k, digests + from, to - from, set_bit);
    }
}

/* Collects the positions that are among the `size` units from `first` on, requests their cache
 * lines, and sets them when they are many. */
static inline void add_scattered(uint8_t *part, uint64_t first, uint64_t size, uint64_t units,
                                 unsigned units_per_byte, unsigned k, const uint64_t *digests,
                                 size_t n, void (*set)(uint8_t *part, uint64_t position))
{
    uint64_t positions[POSITIONS];
    size_t count = 0;
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
                             unsigned k, const uint64_t *digests, size_t n)
{
    add_scattered(part, first, last - first, bits, 8, k, digests, n, set_bit);
}

static inline void count_up(uint8_t *part, uint64_t counter)
{
    unsigned shift = 4 * (counter % 2);
    if ((part[counter / 2] >> shift & 15) < 15)
        part[counter / 2] = (uint8_t)(part[counter / 2] + (1u << shift));
}

void kernel_add_part_counting(uint8_t *part, uint64_t first, uint64_t last, uint64_t counters,
                              unsigned k, const uint64_t *digests, size_t n)
{
    add_scattered(part, first, last - first, counters, 2, k, digests, n, count_up);
}
