/* SPDX-License-Identifier: MIT */
#define KERNEL_TARGET     __attribute__((target("avx2")))
#define KERNEL_ADD_SLICES kernel_add_slices_avx2
#include "kernel_slices.h"
