/* SPDX-License-Identifier: MIT
 * Lookups that verify pages first: each page is verified before the first answer that depends on
 * it, and all bits and counters of a bad page count as set (format-spec.md, section 14). */
#ifndef BLOOMFILE_HANDLE_UNCHECKED_H
#define BLOOMFILE_HANDLE_UNCHECKED_H

#include "format/min.h"
#include "format/probe.h"
#include "live/handle.h"

/* The view that kernels of blocked layouts use. For a slice its base address is where the whole
 * filter would begin, so that a kernel finds a block by its number in the whole filter. Only
 * digests of the slice may be looked up. */
static inline struct kernel_view unchecked_view(const bloomfile_filter *f)
{
    struct kernel_view view = f->view;
    if (header_is_slice(&f->header)) {
        view.units = f->header.whole_blocks;
        const uint64_t before = f->header.first_block * PROBE_BLOCK_BYTES;
        view.body = (const uint8_t *)((uintptr_t)view.body - (uintptr_t)before);
    }
    return view;
}

bool unchecked_contains(const bloomfile_filter *f, uint64_t digest);

/* A lookup that returns true instead of waiting for a disk. Also checks the state of a live
 * file. */
bool unchecked_contains_nowait(const bloomfile_filter *f, uint64_t digest);

/* hits may be NULL in each. Returns the number of hits. */
size_t unchecked_contains_many(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                               bool *hits);

#define UNCHECKED_CHUNK 1024 /* digests whose pages are checked before the first is looked up */

/* Splits a batch into calls of at most UNCHECKED_CHUNK digests. */
static inline __attribute__((always_inline)) size_t
unchecked_in_chunks(const bloomfile_filter *f, const uint64_t *digests, size_t n, bool *hits,
                    size_t (*look_up)(const bloomfile_filter *, const uint64_t *, size_t, bool *))
{
    size_t found = 0;
    for (size_t at = 0, count; (count = MIN(n - at, UNCHECKED_CHUNK)) > 0; at += count)
        found += look_up(f, digests + at, count, hits != NULL ? hits + at : NULL);
    return found;
}

/* Answers "maybe" for all n. Returns n. */
size_t unchecked_all_maybe(size_t n, bool *hits);

#endif
