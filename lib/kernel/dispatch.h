/* SPDX-License-Identifier: MIT
 * The kernel of a layout for this processor. */
#ifndef BLOOMFILE_KERNEL_DISPATCH_H
#define BLOOMFILE_KERNEL_DISPATCH_H

#include "format/layout.h"
#include "kernel/kernel.h"

/* The kernel of that name for a valid layout, or NULL if this processor cannot run it. name NULL:
 * the fastest. */
const struct kernel *kernel_named(uint32_t layout, const char *name);

/* Chosen once: the environment must not be read while the program changes it, and engines open a
 * view for every lookup. */
#define KERNEL_CHOSEN 8 /* not less than LAYOUT_END */
extern const struct kernel *_Atomic kernel_chosen[KERNEL_CHOSEN];

const struct kernel *kernel_choose(uint32_t layout);

/* The kernel for a valid layout: the one that the environment variable BLOOMFILE_KERNEL names, if
 * this processor can run it, otherwise the fastest. The environment is read when the first filter
 * of a layout is opened or made. */
static inline const struct kernel *kernel_for(uint32_t layout)
{
    const struct kernel *kernel =
        atomic_load_explicit(&kernel_chosen[layout], memory_order_relaxed);
    return kernel != NULL ? kernel : kernel_choose(layout);
}

#endif
