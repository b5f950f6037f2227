/* SPDX-License-Identifier: MIT
 * The kernels of the layout ribbon, one per instruction set; they differ in lookups and in the
 * elimination of a page's rows. */
#ifndef BLOOMFILE_KERNEL_RIBBON_RIBBON_H
#define BLOOMFILE_KERNEL_RIBBON_RIBBON_H

#include "kernel/functions.h"

/* Of the functions that lookup.h and solve.h define. */
#define KERNEL_RIBBON(its_name)                                                                    \
    {                                                                                              \
        .name = (its_name), .density = KERNEL_LOCAL, .contains = contains,                         \
        .contains_many = contains_many, .expect = kernel_expect_ribbon, .solve = solve,            \
        .fold = kernel_fold_blocked, .tally = kernel_tally_ribbon                                  \
    }

/* Reads the head of a page, and remembers it if the view can. */
uint32_t kernel_ribbon_read(const struct kernel_view *view, uint64_t page);

void kernel_expect_ribbon(const struct kernel_view *view, const uint64_t *digests, size_t n);

extern const struct kernel kernel_scalar_ribbon;
extern const struct kernel kernel_avx2_ribbon;   /* x86-64 */
extern const struct kernel kernel_avx512_ribbon; /* x86-64 */
extern const struct kernel kernel_neon_ribbon;   /* AArch64 */

#endif
