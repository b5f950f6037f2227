/* SPDX-License-Identifier: MIT
 * The blocked layout with NEON: a block is a table of 64 bytes. */
#define KERNEL_TARGET SHARED_WIDE_LOADS
#define BLOOMFILE_BLOCK_NEON
#include "kernel/blocked.h"
#include "kernel/blocked_lookup.h"
#include "kernel/blocked_part.h"
#include "kernel/blocked_set.h"

const struct kernel kernel_neon_blocked = KERNEL_BLOCKED("neon");
