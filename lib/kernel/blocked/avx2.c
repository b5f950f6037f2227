/* SPDX-License-Identifier: MIT
 * The blocked layout with AVX2: a block is two registers. */
#define KERNEL_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt"))) SHARED_WIDE_LOADS
#define BLOOMFILE_BLOCK_AVX2
#include "kernel/blocked/add_private.h"
#include "kernel/blocked/add_shared.h"
#include "kernel/blocked/blocked.h"
#include "kernel/blocked/lookup.h"

const struct kernel kernel_avx2_blocked = KERNEL_BLOCKED("avx2");
