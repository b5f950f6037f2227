/* SPDX-License-Identifier: MIT
 *
 * Lookups in the blocked layout with one set of instructions. The including file defines
 * KERNEL_TARGET, as for prefetch_ring.h, and BLOOMFILE_BLOCK_AVX512, _AVX2 or _NEON, if any. The
 * test of a block stands in bloomfile_block.h, which engines compile into themselves.
 */
#ifndef BLOOMFILE_KERNEL_BLOCKED_LOOKUP_H
#define BLOOMFILE_KERNEL_BLOCKED_LOOKUP_H

#include "kernel/blocked/prefetch_ring.h"

#define BLOOMFILE_BLOCK_TARGET KERNEL_TARGET
#include <bloomfile_block.h>

KERNEL_TARGET static bool contains(const struct kernel_view *view, uint64_t digest)
{
    return bloomfile_block_has(kernel_block(view, digest), view->k, digest);
}

/* Aligned: where its loop lay across cache lines, the AVX2 kernel took a tenth longer. */
__attribute__((aligned(64))) KERNEL_TARGET static size_t
contains_many(const struct kernel_view *view, const uint64_t *digests, size_t n, bool *hits)
{
    return view->k <= PROBE_SLICES ? kernel_ring(view, digests, n, hits, bloomfile_block_has_few)
                                   : kernel_ring(view, digests, n, hits, bloomfile_block_has_many);
}

#endif
