/* SPDX-License-Identifier: MIT */
#define KERNEL_TARGET     __attribute__((target("avx512f")))
#define KERNEL_ADD_SLICES kernel_add_slices_avx512
#include "kernel_slices.h"
