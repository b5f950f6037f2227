/* SPDX-License-Identifier: MIT
 * The kernel of a layout for this processor. */
#ifndef BLOOMFILE_KERNEL_DISPATCH_H
#define BLOOMFILE_KERNEL_DISPATCH_H

#include "kernel/kernel.h"

/* The kernel of that name for a valid layout, or NULL if this processor cannot run it. name NULL:
 * the fastest. */
const struct kernel *kernel_named(uint32_t layout, const char *name);

/* The kernel for a valid layout: the one that the environment variable BLOOMFILE_KERNEL names, if
 * this processor can run it, otherwise the fastest. The environment is read when the first filter
 * of a layout is opened or made. */
const struct kernel *kernel_for(uint32_t layout);

#endif
