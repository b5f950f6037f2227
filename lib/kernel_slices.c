/* SPDX-License-Identifier: MIT */
#define KERNEL_TARGET
#define KERNEL_ADD_SLICES kernel_add_slices
#include "kernel_slices.h"
