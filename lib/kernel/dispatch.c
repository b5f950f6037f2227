/* SPDX-License-Identifier: MIT
 * Choosing a kernel. The compiler's builtins detect the instructions that the processor and the
 * operating system support. BLOOMFILE_KERNEL in the environment may name another kernel. */
#include "kernel/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/ribbon/ribbon.h"

struct choice {
    const struct kernel *kernel;
    bool (*is_possible)(void); /* on this processor */
};

static bool always(void)
{
    return true;
}

#ifdef __x86_64__

static bool has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f");
}

static bool has_x86_64_v4(void) /* Skylake-SP, Zen 4; without AVX-512CD, which no kernel uses */
{
    return has_avx512() && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

static bool has_vbmi(void) /* Ice Lake, Zen 4 */
{
    return has_x86_64_v4() && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512bitalg");
}

static bool has_vector_popcount(void)
{
    return has_x86_64_v4() && __builtin_cpu_supports("avx512vpopcntdq");
}

#endif

/* The kernels of one layout, fastest first. The last one runs on every processor. */
static const struct choice blocked[] = {
#if defined(__x86_64__)
    { &kernel_blocked_vbmi, has_vbmi }, { &kernel_blocked_avx512, has_avx512 },
    { &kernel_blocked_avx2, has_avx2 },
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    { &kernel_blocked_neon, always },
#endif
    { &kernel_blocked_scalar, always }, { NULL, NULL },
};
static const struct choice classic[] = {
#if defined(__x86_64__)
    { &kernel_classic_avx512, has_x86_64_v4 },
#endif
    { &kernel_classic_scalar, always },
    { NULL, NULL },
};
static const struct choice counting[] = {
#if defined(__x86_64__)
    { &kernel_counting_avx512, has_x86_64_v4 },
#endif
    { &kernel_counting_scalar, always },
    { NULL, NULL },
};

static const struct choice ribbon[] = {
#ifndef BLOOMFILE_NO_RIBBON
#if defined(__x86_64__)
    { &kernel_ribbon_avx512, has_vector_popcount },
    { &kernel_ribbon_avx2, has_avx2 },
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    { &kernel_ribbon_neon, always },
#endif
    { &kernel_ribbon_scalar, always },
#endif
    { NULL, NULL },
};

static const struct choice *const choices[LAYOUT_END] = {
    [BLOOMFILE_LAYOUT_BLOCKED] = blocked,
    [BLOOMFILE_LAYOUT_CLASSIC] = classic,
    [BLOOMFILE_LAYOUT_COUNTING] = counting,
    [BLOOMFILE_LAYOUT_RIBBON] = ribbon,
};

const struct kernel *kernel_named(uint32_t layout, const char *name)
{
    for (const struct choice *c = choices[layout]; c->kernel != NULL; c++)
        if ((name == NULL || strcmp(c->kernel->name, name) == 0) && c->is_possible())
            return c->kernel;
    return NULL;
}

_Static_assert(LAYOUT_END <= KERNEL_CHOSEN, "a layout has no place");
const struct kernel *_Atomic kernel_chosen[KERNEL_CHOSEN];

const struct kernel *kernel_choose(uint32_t layout)
{
    const char *wanted = secure_getenv("BLOOMFILE_KERNEL");
    const struct kernel *kernel = wanted != NULL ? kernel_named(layout, wanted) : NULL;
    if (kernel == NULL)
        kernel = kernel_named(layout, NULL);
    atomic_store_explicit(&kernel_chosen[layout], kernel, memory_order_relaxed);
    return kernel;
}
