/* SPDX-License-Identifier: MIT
 * The blocked layout with AVX-512: a block is one register. */
#include <immintrin.h>

#define KERNEL_TARGET __attribute__((target("avx512f,bmi,bmi2,popcnt"))) SHARED_WIDE_LOADS
#define BLOOMFILE_BLOCK_AVX512
#define KERNEL_WIDE
#include "kernel/blocked/add_private.h"
#include "kernel/blocked/add_shared.h"
#include "kernel/blocked/blocked.h"
#include "kernel/blocked/lookup.h"

const struct kernel kernel_avx512_blocked = KERNEL_BLOCKED("avx512");
