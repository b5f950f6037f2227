/* SPDX-License-Identifier: MIT
 *
 * The blocked layout with NEON: a block is a table of 64 bytes, and each slice of a product has a
 * lane of one byte. The upper six bits of a slice pick a byte of the table, the lower three a bit
 * in it.
 *
 * Three slices lie within the upper half of a product, the others within the 32 bits from bit 10
 * on, which a shift brings into place.
 */
#include <arm_neon.h>

#define KERNEL_TARGET SHARED_WIDE_LOADS
#include "kernel/blocked.h"
#include "kernel/blocked_part.h"
#include "kernel/blocked_ring.h"
#include "kernel/blocked_set.h"

/* Slices 0 to 2 and 3 to 5 in lanes 0 to 2 and 4 to 6, with other bits above them. */
KERNEL_INLINE uint16x8_t slices_of(uint64_t product)
{
    const int32x4_t upper = { -23, -14, -5, -5 }, lower = { -18, -9, 0, 0 };
    uint32x4_t first = vshlq_u32(vdupq_n_u32((uint32_t)(product >> 32)), upper);
    uint32x4_t second = vshlq_u32(vdupq_n_u32((uint32_t)(product >> 10)), lower);
    return vcombine_u16(vmovn_u32(first), vmovn_u32(second));
}

/* The lanes of the first `slices` slices; lane 3 has none. */
KERNEL_INLINE uint64_t lanes_of(unsigned slices)
{
    return ((1ULL << 8 * (slices > 3 ? slices + 1 : slices)) - 1) & ~0xff000000ULL;
}

KERNEL_INLINE uint8x16x4_t load(const uint8_t *at)
{
    return (
        uint8x16x4_t){ { vld1q_u8(at), vld1q_u8(at + 16), vld1q_u8(at + 32), vld1q_u8(at + 48) } };
}

/* Lanes, all ones where the bit is zero. */
KERNEL_INLINE uint64_t absent(uint8x16x4_t block, uint64_t product)
{
    const uint16x8_t slices = slices_of(product);
    uint8x8_t index = vand_u8(vshrn_n_u16(slices, 3), vdup_n_u8(63));
    uint8x8_t bit = vand_u8(vmovn_u16(slices), vdup_n_u8(7));
    uint8x8_t set =
        vtst_u8(vqtbl4_u8(block, index), vshl_u8(vdup_n_u8(1), vreinterpret_s8_u8(bit)));
    return ~vget_lane_u64(vreinterpret_u64_u8(set), 0);
}

KERNEL_INLINE bool test_block(const uint8_t *at, unsigned k, uint64_t digest)
{
    const uint8x16x4_t block = load(at);
    uint64_t product = digest, none = 0;
    for (; k > PROBE_SLICES; k -= PROBE_SLICES)
        none |= absent(block, product *= PROBE_MULTIPLIER) & lanes_of(PROBE_SLICES);
    return (none | (absent(block, product * PROBE_MULTIPLIER) & lanes_of(k))) == 0;
}

KERNEL_TARGET static bool contains(const struct kernel_view *view, uint64_t digest)
{
    return kernel_answer(view, test_block(kernel_block(view, digest), view->k, digest));
}

KERNEL_TARGET static size_t contains_many(const struct kernel_view *view, const uint64_t *digests,
                                          size_t n, bool *hits)
{
    return kernel_ring(view, digests, n, hits, test_block);
}

KERNEL_TARGET static void add_shared(uint8_t *body, uint64_t blocks, unsigned k,
                                     const uint64_t *digests, size_t n, bool *was_new,
                                     struct kernel_change *change)
{
    kernel_set(body, blocks, k, digests, n, was_new, change, kernel_find_lacks_scalar);
}

const struct kernel kernel_neon_blocked =
    KERNEL_BLOCKED("neon", contains, contains_many, add_part, add_shared);
