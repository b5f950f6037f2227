/* SPDX-License-Identifier: MIT
 * Portable kernels, one a layout: the definition of what the others must compute. */
#ifndef BLOOMFILE_KERNEL_SCALAR_H
#define BLOOMFILE_KERNEL_SCALAR_H

#include "kernel.h"

extern const struct kernel kernel_scalar_blocked;
extern const struct kernel kernel_scalar_classic;
extern const struct kernel kernel_scalar_counting;

#endif
