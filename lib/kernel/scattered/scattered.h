/* SPDX-License-Identifier: MIT
 * The kernels of the layouts whose positions lie anywhere in the body. */
#ifndef BLOOMFILE_KERNEL_SCATTERED_SCATTERED_H
#define BLOOMFILE_KERNEL_SCATTERED_SCATTERED_H

#include "kernel/functions.h"

#define KERNEL_CACHED_BYTES (1 << 24) /* bodies up to this size stay in the last cache */

/* What differs are lookups. */
#define KERNEL_CLASSIC(its_name, its_contains, its_contains_many)                                  \
    {                                                                                              \
        .name = (its_name), .density = KERNEL_BITS, .contains = (its_contains),                    \
        .contains_many = (its_contains_many), .expect = kernel_expect_classic,                     \
        .add_part = kernel_add_part_classic, .put = kernel_put_classic,                            \
        .add_shared = kernel_add_shared_classic, .add_alone = kernel_add_alone_classic,            \
        .tally = kernel_tally_classic, .fold = kernel_fold_classic,                                \
    }
#define KERNEL_COUNTING(its_name, its_contains, its_contains_many)                                 \
    {                                                                                              \
        .name = (its_name), .density = KERNEL_COUNTERS, .contains = (its_contains),                \
        .contains_many = (its_contains_many), .expect = kernel_expect_counting,                    \
        .add_part = kernel_add_part_counting, .put = kernel_put_counting,                          \
        .add_shared = kernel_add_shared_counting, .remove_shared = kernel_remove_shared_counting,  \
        .tally = kernel_tally_counting, .fold = kernel_fold_counting,                              \
        .project = kernel_project_counting,                                                        \
    }

void kernel_expect_classic(const struct kernel_view *view, const uint64_t *digests, size_t n);
void kernel_expect_counting(const struct kernel_view *view, const uint64_t *digests, size_t n);

extern const struct kernel kernel_scalar_classic;
extern const struct kernel kernel_scalar_counting;
extern const struct kernel kernel_avx512_classic;
extern const struct kernel kernel_avx512_counting;

#endif
