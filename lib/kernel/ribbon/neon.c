/* SPDX-License-Identifier: MIT
 * The layout ribbon with NEON: four columns of both blocks at once. */
#include <arm_neon.h>

#define KERNEL_TARGET
#include "kernel/ribbon/page.h"

/* Whether four equations hold. */
KERNEL_INLINE bool four(const uint8_t *first, const uint8_t *second, uint64_t row, uint32_t right)
{
    static const int32_t down[4] = { 0, -1, -2, -3 };
    const uint32x4_t x =
        vandq_u32(vreinterpretq_u32_u8(vld1q_u8(first)), vdupq_n_u32((uint32_t)row));
    const uint32x4_t y =
        vandq_u32(vreinterpretq_u32_u8(vld1q_u8(second)), vdupq_n_u32((uint32_t)(row >> 32)));
    const uint8x16_t ones = vcntq_u8(vreinterpretq_u8_u32(veorq_u32(x, y)));
    const uint32x4_t sums = vpaddlq_u16(vpaddlq_u8(ones));
    const uint32x4_t rights = vshlq_u32(vdupq_n_u32(right), vld1q_s32(down));
    return vmaxvq_u32(vandq_u32(veorq_u32(sums, rights), vdupq_n_u32(1))) == 0;
}

KERNEL_INLINE bool fits(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    const uint8_t *const second = columns + 4 * (size_t)count;
    if (count < 4)
        return kernel_ribbon_fits(columns, count, row, right);
    for (unsigned j = 0;; j = j + 4 <= count - 4 ? j + 4 : count - 4) {
        if (!four(columns + 4 * (size_t)j, second + 4 * (size_t)j, row, right >> j))
            return false;
        if (j == count - 4)
            return true;
    }
}

#include "kernel/ribbon/lookup.h"
#include "kernel/ribbon/solve.h"

const struct kernel kernel_neon_ribbon = KERNEL_RIBBON("neon");
