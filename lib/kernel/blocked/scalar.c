/* SPDX-License-Identifier: MIT
 * The blocked layout, bit by bit: the definition. */
#define KERNEL_TARGET
#include "kernel/blocked/add_private.h"
#include "kernel/blocked/add_shared.h"
#include "kernel/blocked/blocked.h"
#include "kernel/blocked/lookup.h"

void kernel_expect_blocked(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    for (size_t i = 0; i < n && !kernel_is_near(view); i++)
        kernel_request_lines(view, digests[i], kernel_is_split(view));
}

const struct kernel kernel_scalar_blocked = KERNEL_BLOCKED("scalar");
