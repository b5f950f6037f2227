/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#include "kernel_blocked.h"
#include "kernel_scattered.h"

/* The name is looked at first: what a processor can do is not asked for one that is not wanted. */
static bool processor_has(const char *instructions)
{
#ifdef __x86_64__
    const bool is_avx2 = strcmp(instructions, "avx2") == 0;
    const bool is_avx512 = strcmp(instructions, "avx512") == 0;
    __builtin_cpu_init();
    if (is_avx2 || is_avx512)
        return (is_avx2 ? __builtin_cpu_supports("avx2") : __builtin_cpu_supports("avx512f")) &&
               __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
               __builtin_cpu_supports("popcnt");
#endif
    (void)instructions;
    return true;
}

/* Of one layout, the fastest first. */
static const struct kernel *const blocked[] = {
#if defined(__x86_64__)
    &kernel_avx512_blocked,
    &kernel_avx2_blocked,
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    &kernel_neon_blocked,
#endif
    &kernel_scalar_blocked,
    NULL,
};
static const struct kernel *const classic[] = { &kernel_scalar_classic, NULL };
static const struct kernel *const counting[] = { &kernel_scalar_counting, NULL };

static const struct kernel *const *kernels_of(uint32_t layout)
{
    return layout == BLOOMFILE_CLASSIC    ? classic
           : layout == BLOOMFILE_COUNTING ? counting
                                          : blocked;
}

const struct kernel *kernel_named(uint32_t layout, const char *name)
{
    const struct kernel *const *k = kernels_of(layout);
    while (*k != NULL && strcmp((*k)->name, name) != 0)
        k++;
    return *k != NULL && processor_has(name) ? *k : NULL;
}

const struct kernel *kernel_for(uint32_t layout)
{
    const char *wanted = secure_getenv("BLOOMFILE_KERNEL");
    const struct kernel *kernel = wanted != NULL ? kernel_named(layout, wanted) : NULL;
    const struct kernel *const *k = kernels_of(layout);
    if (kernel != NULL)
        return kernel;
    while (!processor_has((*k)->name))
        k++;
    return *k;
}
