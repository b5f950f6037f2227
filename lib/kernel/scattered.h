/* SPDX-License-Identifier: MIT
 * The kernels of the layouts whose positions lie anywhere in the body. */
#ifndef BLOOMFILE_KERNEL_SCATTERED_H
#define BLOOMFILE_KERNEL_SCATTERED_H

#include "kernel/kernel.h"

extern const struct kernel kernel_scalar_classic;
extern const struct kernel kernel_scalar_counting;

#endif
