/* SPDX-License-Identifier: MIT
 *
 * The kernel of the blocked layout for one instruction set. blocked.c includes this file once for
 * each set, and defines
 *
 *     ISA       the name of the set; OF_ISA(name) appends it to the name of a function
 *     TARGET    the attributes that let a function use these instructions. Inlined functions with
 *               wide operations need them too: the compiler splits these before it inlines
 *     WIDE      if a block is one AVX-512 register
 *     PICKS     if a test takes a mask of the bits to ignore: bloomfile_block_has_all_vbmi()
 */
/* ---- lookups */

TARGET KERNEL_INLINE bool OF_ISA(has)(const uint8_t *block, unsigned k, uint64_t digest)
{
    return k <= PROBE_SLICES ? OF_ISA_(bloomfile_block_has_few, ISA)(block, k, digest)
                             : OF_ISA_(bloomfile_block_has_many, ISA)(block, k, digest);
}

TARGET static bool OF_ISA(contains)(const struct kernel_view *view, uint64_t digest)
{
    return OF_ISA(has)(kernel_block(view, digest), view->k, digest);
}

/* For k up to PROBE_SLICES: one product has all positions. */
TARGET static bool OF_ISA(contains_few)(const struct kernel_view *view, uint64_t digest)
{
    const uint8_t *block = kernel_block(view, digest);
#ifdef PICKS
    return OF_ISA_(bloomfile_block_has_all, ISA)(block, view->ignored, digest);
#else
    return OF_ISA_(bloomfile_block_has_few, ISA)(block, view->k, digest);
#endif
}

/* ---- lookups in several bodies
 *
 * The loop tests only the positions of the first product. In a half-full block all six are set for
 * one absent key in 2^6 = 64, so the branch to the remaining positions is predicted well, and the
 * short loop lets the cache misses of many bodies overlap. */

TARGET static __attribute__((noinline)) bool OF_ISA(has_rest)(const struct kernel_view *view,
                                                              uint64_t digest)
{
    return OF_ISA(contains)(view, digest);
}

TARGET KERNEL_INLINE bool OF_ISA(in_any)(const struct kernel_view *views, size_t count,
                                         uint64_t digest)
{
    const struct kernel_view *view = views, *end = views + count;
#ifdef PICKS
    const uint64_t ignored = view->ignored;
    const __m512i slices = OF_ISA_(bloomfile_block_slices, ISA)(digest * PROBE_MULTIPLIER);
#endif
    do {
        const uint8_t *block = kernel_block(view, digest);
#ifdef PICKS
        const bool first =
            _kortestc_mask64_u8(OF_ISA_(bloomfile_block_picked, ISA)(block, slices), ignored);
#else
        const unsigned k = view->k < PROBE_SLICES ? view->k : PROBE_SLICES;
        const bool first = OF_ISA_(bloomfile_block_has_few, ISA)(block, k, digest);
#endif
        if (__builtin_expect(first, 0) && OF_ISA(has_rest)(view, digest))
            return true;
    } while (++view != end);
    return false;
}

TARGET static bool OF_ISA(contains_any)(const struct kernel_view *views, size_t count,
                                        uint64_t digest)
{
    return OF_ISA(in_any)(views, count, digest);
}

TARGET KERNEL_INLINE size_t OF_ISA(in_any_many)(const struct kernel_view *views, size_t count,
                                                const uint64_t *digests, size_t n, bool *hits,
                                                size_t ahead, bool split)
{
    size_t found = 0;
    for (size_t i = 0; i < n && i < ahead; i++)
        kernel_request_in(views, count, digests[i], split);
    for (size_t i = 0; i < n; i++) {
        if (ahead > 0 && i + ahead < n)
            kernel_request_in(views, count, digests[i + ahead], split);
        hits[i] = OF_ISA(in_any)(views, count, digests[i]);
        found += hits[i];
    }
    return found;
}

TARGET static size_t OF_ISA(contains_any_many)(const struct kernel_view *views, size_t count,
                                               const uint64_t *digests, size_t n, bool *hits)
{
    const size_t ahead = kernel_ahead_in(views, count);
    return kernel_is_any_split(views, count)
               ? OF_ISA(in_any_many)(views, count, digests, n, hits, ahead, true)
               : OF_ISA(in_any_many)(views, count, digests, n, hits, ahead, false);
}

/* ---- lookups in one body */

/* Aligned, because the AVX2 loop took 10% longer when it crossed a cache line. */
__attribute__((aligned(64))) TARGET static size_t
OF_ISA(contains_many)(const struct kernel_view *view, const uint64_t *digests, size_t n, bool *hits)
{
    return view->k <= PROBE_SLICES
               ? kernel_ring(view, digests, n, hits, OF_ISA_(bloomfile_block_has_few, ISA))
               : kernel_ring(view, digests, n, hits, OF_ISA_(bloomfile_block_has_many, ISA));
}

TARGET static size_t OF_ISA(contains_ready)(const struct kernel_view *view, const uint64_t *digests,
                                            size_t n, bool *hits)
{
    const struct kernel_view copy = *view;
    return copy.k <= PROBE_SLICES ? kernel_ring_stretch(&copy, digests, 0, n, 0, false, hits,
                                                        OF_ISA_(bloomfile_block_has_few, ISA))
                                  : kernel_ring_stretch(&copy, digests, 0, n, 0, false, hits,
                                                        OF_ISA_(bloomfile_block_has_many, ISA));
}

#include "kernel/blocked/adds_impl.h"

const struct kernel OF_ISA_(kernel_blocked, ISA) = {
    .name = NAME(ISA),
    .density = KERNEL_LOCAL,
    .contains = OF_ISA(contains),
    .contains_few = OF_ISA(contains_few),
    .contains_many = OF_ISA(contains_many),
    .contains_ready = OF_ISA(contains_ready),
    .contains_any = OF_ISA(contains_any),
    .contains_any_many = OF_ISA(contains_any_many),
    .expect = expect_blocks,
    .tally = kernel_tally_blocked,
    .count = kernel_tally_classic,
#ifndef BLOOMFILE_NO_BUILD
    .add_part = OF_ISA(add_part),
    .fold = kernel_fold_blocked,
#endif
#ifndef BLOOMFILE_NO_LIVE
    .add_shared = OF_ISA(add_shared),
    .add_alone = OF_ISA(add_alone),
    .set_shared = OF_ISA(set_shared),
    .set_alone = OF_ISA(set_alone),
#endif
};

#undef ISA
#undef TARGET
