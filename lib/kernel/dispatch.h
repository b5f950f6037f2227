/* SPDX-License-Identifier: MIT
 * Choosing the kernel for a layout on this processor. */
#ifndef BLOOMFILE_KERNEL_DISPATCH_H
#define BLOOMFILE_KERNEL_DISPATCH_H

#include "format/layout.h"
#include "kernel/kernel.h"

/* Returns the kernel with this name for a valid layout, or NULL if this processor cannot run it. If
 * name is NULL, returns the fastest kernel. */
const struct kernel *kernel_named(uint32_t layout, const char *name);

/* The kernel of each layout, chosen once: storage engines open a view for every lookup, and
 * getenv() is not safe while another thread changes the environment. */
#define KERNEL_CHOSEN 8 /* at least LAYOUT_END */
extern const struct kernel *_Atomic kernel_chosen[KERNEL_CHOSEN];

const struct kernel *kernel_choose(uint32_t layout);

/* Returns the kernel for a valid layout: the kernel that BLOOMFILE_KERNEL names if this processor
 * can run it, otherwise the fastest. The environment is read when the program opens or creates its
 * first filter of that layout. */
static inline const struct kernel *kernel_for(uint32_t layout)
{
    const struct kernel *kernel =
        atomic_load_explicit(&kernel_chosen[layout], memory_order_relaxed);
    return kernel != NULL ? kernel : kernel_choose(layout);
}

#endif
