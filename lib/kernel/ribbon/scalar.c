/* SPDX-License-Identifier: MIT
 * The layout ribbon for every processor: the definition. */
#define KERNEL_TARGET
#include "kernel/ribbon/page.h"

KERNEL_INLINE bool fits(const uint8_t *columns, unsigned count, uint64_t row, uint32_t right)
{
    return kernel_ribbon_fits(columns, count, row, right);
}

#include "kernel/ribbon/lookup.h"
#include "kernel/ribbon/solve.h"

uint32_t kernel_ribbon_read(const struct kernel_view *view, uint64_t page)
{
    const uint32_t shape =
        ribbon_shape_of(get64(view->body + page * CHECKSUM_PAGE), ribbon_lines(page, view->units));
    uint32_t none = 0; /* or what was read with a page that was found good meanwhile: that stays */
    if (view->shapes != NULL)
        atomic_compare_exchange_strong(&view->shapes[page], &none, shape);
    return shape;
}

/* The head, unless it is known; the columns then. */
void kernel_expect_ribbon(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t page = probe_reduce(digests[i], view->units) / RIBBON_LINES;
        if (view->shapes == NULL ||
            atomic_load_explicit(&view->shapes[page], memory_order_relaxed) == 0)
            __builtin_prefetch(view->body + page * CHECKSUM_PAGE);
    }
}

const struct kernel kernel_scalar_ribbon = KERNEL_RIBBON("scalar");
