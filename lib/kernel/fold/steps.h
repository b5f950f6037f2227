/* SPDX-License-Identifier: MIT
 *
 * Folding units smaller than a byte in steps: a fold by 12 is a fold by 4 and then by 3. A step
 * reads and writes whole bytes, in two buffers that stay in the L1 cache. Units that do not begin a
 * byte are shifted into place first.
 */
#ifndef BLOOMFILE_KERNEL_FOLD_STEPS_H
#define BLOOMFILE_KERNEL_FOLD_STEPS_H

#include "format/bytes.h"
#include "kernel/kernel.h"

#define FOLD_RUN    64 /* bytes of an inner loop: a constant, so that compilers vectorise it */
#define FOLD_INLINE static inline __attribute__((always_inline))

struct fold_layout {
    unsigned units; /* units in a byte */
    /* Returns the factor of the next step: a divisor of `factor` above 1. */
    uint64_t (*next)(uint64_t factor);
    /* Folds size * by bytes into `size` bytes. May write up to the next multiple of FOLD_RUN, and
     * read the source of these bytes and 32 bytes more. */
    void (*step)(uint8_t *restrict to, const uint8_t *restrict from, size_t size, uint64_t by);
    /* Folds by 1: combines `size` bytes of `from` with those of `to`. */
    void (*unite)(uint8_t *restrict to, const uint8_t *restrict from, uint64_t size);
    /* Folds n > 0 units from unit i on into unit j. */
    void (*group)(uint8_t *to, uint64_t j, const uint8_t *from, uint64_t i, uint64_t n);
};

#if defined __x86_64__ && !defined __AVX2__
#define FOLD_WIDE    __attribute__((target("avx2")))
#define FOLD_IS_WIDE (__builtin_cpu_supports("avx2") != 0)
#else
#define FOLD_WIDE
#define FOLD_IS_WIDE 0
#endif

#define FOLD_CASE(by, step)                                                                        \
    case by:                                                                                       \
        step;                                                                                      \
        break

/* Returns the first of `steps` that divides the factor, or the factor itself if none does. */
static inline uint64_t fold_divisor(uint64_t factor, const uint8_t *steps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (factor % steps[i] == 0)
            return steps[i];
    return factor;
}

#define FOLD_STEPS(attributes, layout, cells, its_units)                                           \
    attributes static void layout##_step(uint8_t *restrict to, const uint8_t *restrict from,       \
                                         size_t size, uint64_t by)                                 \
    {                                                                                              \
        step_##cells(to, from, size, by);                                                          \
    }                                                                                              \
    attributes static void layout##_unite(uint8_t *restrict to, const uint8_t *restrict from,      \
                                          uint64_t size)                                           \
    {                                                                                              \
        unite_##cells(to, from, size);                                                             \
    }                                                                                              \
    static const struct fold_layout layout = { its_units, next_step_of_##cells, layout##_step,     \
                                               layout##_unite, fold_##cells##_group }

/* `fold` of struct kernel, for a layout whose units are smaller than a byte. */
void fold_by_steps(const struct fold_layout *layout, uint8_t *to, const uint8_t *from,
                   uint64_t first, uint64_t count, uint64_t factor);

#endif
