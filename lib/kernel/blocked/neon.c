/* SPDX-License-Identifier: MIT
 * The blocked layout with NEON: a block is a table of 64 bytes. */
#define KERNEL_TARGET SHARED_WIDE_LOADS
#define BLOOMFILE_BLOCK_NEON
#include "kernel/blocked/add_private.h"
#include "kernel/blocked/add_shared.h"
#include "kernel/blocked/blocked.h"
#include "kernel/blocked/lookup.h"

const struct kernel kernel_neon_blocked = KERNEL_BLOCKED("neon");
