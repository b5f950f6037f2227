/* SPDX-License-Identifier: MIT
 * The kernels of the blocked layout, one per instruction set; they differ in lookups and adds. */
#ifndef BLOOMFILE_KERNEL_BLOCKED_BLOCKED_H
#define BLOOMFILE_KERNEL_BLOCKED_BLOCKED_H

#include "kernel/functions.h"

extern const struct kernel kernel_blocked_scalar;
extern const struct kernel kernel_blocked_avx2;   /* x86-64 */
extern const struct kernel kernel_blocked_avx512; /* x86-64 */
extern const struct kernel kernel_blocked_neon;   /* AArch64 */

#endif
