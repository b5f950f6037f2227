/* SPDX-License-Identifier: MIT
 *
 * The code that touches bits. A kernel gets a body and counts, never a handle; it trusts what it is
 * given. The scalar ones are the definition, any other must agree with them bit for bit.
 *
 * `units` is what the first reduction of a digest ranges over: blocks for the blocked layout, bits
 * or counters otherwise. A body may lie at any alignment, but for add_shared.
 */
#ifndef BLOOMFILE_KERNEL_H
#define BLOOMFILE_KERNEL_H

#include <bloomfile.h>

/* What a lookup reads. */
struct kernel_view {
    const uint8_t *body;
    uint64_t units;
    unsigned k;
};

struct kernel_tally {
    uint64_t ones;        /* one bits; counting: counters above 0 */
    uint64_t overflow;    /* counting: counters at 15 */
    uint64_t blocks[513]; /* blocked: how many blocks have so many ones */
};

/* What adding (or, with negative numbers, removing) did. */
struct kernel_change {
    int64_t keys; /* new to the body */
    int64_t ones;
    int64_t overflow;
};

struct kernel {
    const char *name;
    bool (*contains)(const struct kernel_view *view, uint64_t digest);
    /* hits may be NULL. Returns the number of hits. */
    size_t (*contains_many)(const struct kernel_view *view, const uint64_t *digests, size_t n,
                            bool *hits);
    /* Requests the cache lines that lookups of these digests will read first. */
    void (*expect)(const struct kernel_view *view, const uint64_t *digests, size_t n);
    /* Plain stores, into the part of a body that begins with unit `first`, on a byte of its own,
     * and ends before unit `last`; it is the caller's alone. What the digests set elsewhere is left
     * out; blocked: they all belong into the part. */
    void (*add_part)(uint8_t *part, uint64_t first, uint64_t last, uint64_t units, unsigned k,
                     const uint64_t *digests, size_t n);
    /* Into a body that others read and change at the same time; 64-byte aligned. was_new may be
     * NULL; what was changed is added to *change. */
    void (*add_shared)(uint8_t *body, uint64_t units, unsigned k, const uint64_t *digests, size_t n,
                       bool *was_new, struct kernel_change *change);
    /* Adds to the tally what `size` bytes hold; blocked: size is a multiple of 64. */
    void (*tally)(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
    /* Folds units `first` to `first + count - 1` into `to`, whose unit j takes those from
     * j * factor on: ORs them in, or (counting) adds them up to 15. `from` begins with unit
     * `first`; factor 1: which begins a byte of `to`. */
    void (*fold)(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count, uint64_t factor);
};

#endif
