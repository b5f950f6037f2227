/* SPDX-License-Identifier: MIT
 * The shape of a page that a lookup or a builder works on. */
#ifndef BLOOMFILE_KERNEL_RIBBON_PAGE_H
#define BLOOMFILE_KERNEL_RIBBON_PAGE_H

#include <stdatomic.h>
#include <string.h>

#include "format/checksum.h"
#include "format/ribbon.h"
#include "kernel/ribbon/ribbon.h"

#define KERNEL_INLINE KERNEL_TARGET static inline __attribute__((always_inline))
#define KERNEL_ALONE  KERNEL_TARGET static __attribute__((noinline))

static inline uint32_t kernel_ribbon_shape(const struct kernel_view *view, uint64_t page)
{
    const uint32_t shape =
        view->shapes != NULL ? atomic_load_explicit(&view->shapes[page], memory_order_relaxed) : 0;
    return shape != 0 ? shape : kernel_ribbon_read(view, page);
}

/* Whether a key's equations hold, column by column: the definition. */
static inline bool kernel_ribbon_fits(const uint8_t *columns, unsigned count, uint64_t row,
                                      uint32_t right)
{
    for (unsigned j = 0; j < count; j++) {
        const uint64_t pair = get32(columns + 4 * j) | (uint64_t)get32(columns + 4 * (count + j))
                                                           << 32;
        if (((unsigned)__builtin_parityll(pair & row) ^ right >> j) & 1)
            return false;
    }
    return true;
}

#endif
