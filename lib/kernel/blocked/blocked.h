/* SPDX-License-Identifier: MIT
 * The kernels of the blocked layout, one per instruction set; they differ in lookups and adds. */
#ifndef BLOOMFILE_KERNEL_BLOCKED_BLOCKED_H
#define BLOOMFILE_KERNEL_BLOCKED_BLOCKED_H

#include "kernel/functions.h"

/* Of the functions that lookup.h, add_private.h and add_shared.h define. */
#define KERNEL_BLOCKED(its_name)                                                                   \
    {                                                                                              \
        .name = (its_name), .density = KERNEL_LOCAL, .contains = contains,                         \
        .contains_many = contains_many, .expect = kernel_expect_blocked, .add_part = add_part,     \
        .add_shared = add_shared, .add_alone = add_alone, .tally = kernel_tally_blocked,           \
        .fold = kernel_fold_blocked                                                                \
    }

void kernel_expect_blocked(const struct kernel_view *view, const uint64_t *digests, size_t n);

extern const struct kernel kernel_scalar_blocked;
extern const struct kernel kernel_avx2_blocked;   /* x86-64 */
extern const struct kernel kernel_avx512_blocked; /* x86-64 */
extern const struct kernel kernel_neon_blocked;   /* AArch64 */

#endif
