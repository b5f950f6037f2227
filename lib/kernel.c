/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include "kernel_scalar.h"

const struct kernel *kernel_for(uint32_t layout)
{
    switch (layout) {
    case BLOOMFILE_CLASSIC:
        return &kernel_scalar_classic;
    case BLOOMFILE_COUNTING:
        return &kernel_scalar_counting;
    default:
        return &kernel_scalar_blocked;
    }
}
