/* SPDX-License-Identifier: MIT
 * The code that touches bits. A kernel gets a body and counts, never a handle, and trusts them.
 * The scalar kernels are the definition; all others must agree bit for bit. `units` is the range
 * of a digest's first reduction: blocks for the blocked layout, bits or counters otherwise. A body
 * may have any alignment, except for add_shared and add_alone. */
#ifndef BLOOMFILE_KERNEL_H
#define BLOOMFILE_KERNEL_H

#include <bloomfile.h>
#include <stdatomic.h>

/* All that a lookup reads. */
struct kernel_view {
    const uint8_t *body;
    uint64_t units;
    unsigned k;
    _Atomic uint32_t *shapes; /* ribbon: of the pages whose heads were read; 0: not yet. NULL: they
                                 are read each time */
    uint64_t ignored;         /* blocked: kernel_ignored(k), for contains_few() */
};

struct kernel_tally {
    uint64_t ones;        /* bits that are one; counting: counters above 0 */
    uint64_t overflow;    /* counting: counters at 15 */
    uint64_t blocks[513]; /* blocked: number of blocks with that many ones; ribbon: weight of the
                             lookups that meet so many columns */
    uint64_t keys;        /* ribbon: that the heads tell */
    uint64_t not_heads;   /* ribbon: of pages that have none */
    bool more_keys;       /* ribbon: than the heads can tell */
};

/* The effect of adding, or with negative numbers of removing. */
struct kernel_change {
    int64_t keys; /* new to the body */
    int64_t ones;
    int64_t overflow;
};

/* Digests that had perhaps been added before, as they set no bit; all others had not. */
struct kernel_idle {
    uint64_t *digests; /* the first `most` of them */
    size_t most;
    size_t count; /* above `most`: some are missing */
};

/* Positions of a key that lie anywhere: how many a byte has. */
enum kernel_density {
    KERNEL_LOCAL = 0, /* they all lie in the unit of the first reduction */
    KERNEL_BITS = 8,
    KERNEL_COUNTERS = 2,
};

struct ribbon_solve_memory;

struct kernel {
    const char *name;
    enum kernel_density density;
    bool (*contains)(const struct kernel_view *view, uint64_t digest);
    /* The same for k up to PROBE_SLICES. NULL: the layout is not blocked. */
    bool (*contains_few)(const struct kernel_view *view, uint64_t digest);
    /* hits may be NULL. Returns the number of hits. */
    size_t (*contains_many)(const struct kernel_view *view, const uint64_t *digests, size_t n,
                            bool *hits);
    /* Lookups in several bodies: whether any of `count`, at least one, has the key. hits is not
     * NULL. `ignored` of the first view is the OR of all. NULL: the layout is not blocked. */
    bool (*contains_any)(const struct kernel_view *views, size_t count, uint64_t digest);
    size_t (*contains_any_many)(const struct kernel_view *views, size_t count,
                                const uint64_t *digests, size_t n, bool *hits);
    /* contains_many() for digests whose lines were prefetched before. */
    size_t (*contains_ready)(const struct kernel_view *view, const uint64_t *digests, size_t n,
                             bool *hits);
    /* Requests the cache lines that lookups of these digests will read first. */
    void (*expect)(const struct kernel_view *view, const uint64_t *digests, size_t n);
    /* Makes a page of `lines` lines, all zeros, from its n distinct digests, and asks for each; of
     * more than RIBBON_KEYS only the first so many are looked at. false:
     * it answers no to one, so this machine computes wrongly. NULL: keys are added. */
    bool (*solve)(uint8_t *page, unsigned lines, const uint64_t *digests, uint64_t n,
                  struct ribbon_solve_memory *memory);
    /* NULL, like all that follow but tally and count, if there is a solve.
     * Plain stores into the part of a body from unit `first`, which begins a byte, to before
     * unit `last`; only the caller touches it. Positions outside are ignored; blocked: there are
     * none, and `idle` takes digests unless it is NULL. */
    void (*add_part)(uint8_t *part, uint64_t first, uint64_t last, uint64_t units, unsigned k,
                     const uint64_t *digests, size_t n, struct kernel_idle *idle);
    /* The same for known positions, counted from the start of the part. NULL: local. */
    void (*put)(uint8_t *part, const uint32_t *positions, size_t n);
    /* Into a 64-byte aligned body that others read and change at the same time. was_new may be
     * NULL; the effect is added to *change. */
    void (*add_shared)(uint8_t *body, uint64_t units, unsigned k, const uint64_t *digests, size_t n,
                       bool *was_new, struct kernel_change *change);
    /* The same when nobody else changes the body, though others may read it: without locked
     * instructions. NULL: there is no faster way. */
    void (*add_alone)(uint8_t *body, uint64_t units, unsigned k, const uint64_t *digests, size_t n,
                      bool *was_new, struct kernel_change *change);
    /* As add_shared and add_alone, for one key; return the number of bits set. May be NULL. */
    unsigned (*set_shared)(uint8_t *body, uint64_t units, unsigned k, uint64_t digest);
    unsigned (*set_alone)(uint8_t *body, uint64_t units, unsigned k, uint64_t digest);
    /* Undoes one add of a key. Returns false and changes nothing if the key is certainly absent.
     * Nobody else may remove meanwhile; others may add. NULL: keys cannot be removed. */
    bool (*remove_shared)(uint8_t *body, uint64_t units, unsigned k, uint64_t digest,
                          struct kernel_change *change);
    /* Counts `size` bytes into the tally; blocked: a multiple of 64. */
    void (*tally)(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
    /* The same, but faster: it need not count the tally's blocks. */
    void (*count)(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
    /* Folds units `first` to `first + count - 1` into `to`, whose unit j takes `factor` units from
     * j * factor on: ORs them in, or (counting) adds them up to 15. `from` begins with unit
     * `first`; with factor 1 that one begins a byte of `to`. */
    void (*fold)(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count, uint64_t factor);
    /* ORs in a bit for each counter above 0 in `size` bytes. NULL: there is no projection. */
    void (*project)(uint8_t *to, const uint8_t *from, size_t size);
};

/* ---- The kernels, one per instruction set and layout. Those of ribbon: ribbon.h. */

extern const struct kernel kernel_blocked_scalar;
extern const struct kernel kernel_blocked_avx2;   /* x86-64 */
extern const struct kernel kernel_blocked_avx512; /* x86-64 */
extern const struct kernel kernel_blocked_vbmi;   /* x86-64 */
extern const struct kernel kernel_blocked_neon;   /* AArch64 */
extern const struct kernel kernel_classic_scalar;
extern const struct kernel kernel_classic_avx512; /* x86-64 */
extern const struct kernel kernel_counting_scalar;
extern const struct kernel kernel_counting_avx512; /* x86-64 */

/* ---- blocked/blocked.c: bloomfile_block_ignored() for the slices of the first product of k. */
uint64_t kernel_ignored(unsigned k);

/* ---- Functions of several tables: scattered/add_private.c */
void kernel_add_part_classic(uint8_t *part, uint64_t first, uint64_t last, uint64_t bits,
                             unsigned k, const uint64_t *digests, size_t n,
                             struct kernel_idle *idle);
void kernel_add_part_counting(uint8_t *part, uint64_t first, uint64_t last, uint64_t counters,
                              unsigned k, const uint64_t *digests, size_t n,
                              struct kernel_idle *idle);
void kernel_put_classic(uint8_t *part, const uint32_t *positions, size_t n);
void kernel_put_counting(uint8_t *part, const uint32_t *positions, size_t n);

/* ---- scattered/add_shared.c */
void kernel_add_shared_classic(uint8_t *body, uint64_t bits, unsigned k, const uint64_t *digests,
                               size_t n, bool *was_new, struct kernel_change *change);
void kernel_add_alone_classic(uint8_t *body, uint64_t bits, unsigned k, const uint64_t *digests,
                              size_t n, bool *was_new, struct kernel_change *change);
void kernel_add_shared_counting(uint8_t *body, uint64_t counters, unsigned k,
                                const uint64_t *digests, size_t n, bool *was_new,
                                struct kernel_change *change);
bool kernel_remove_shared_counting(uint8_t *body, uint64_t counters, unsigned k, uint64_t digest,
                                   struct kernel_change *change);

/* ---- fold/ */
void kernel_fold_blocked(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                         uint64_t factor);
void kernel_fold_classic(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                         uint64_t factor);
void kernel_fold_counting(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                          uint64_t factor);
void kernel_project_counting(uint8_t *to, const uint8_t *from, size_t size);

/* ---- tally.c */
void kernel_tally_blocked(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
void kernel_tally_classic(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
void kernel_tally_ribbon(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
void kernel_tally_counting(const uint8_t *bytes, size_t size, struct kernel_tally *tally);

#endif
