/* SPDX-License-Identifier: MIT
 * The kernels: tables of functions that set, test, count and fold bits, one for each layout and
 * instruction set. A kernel gets bodies and sizes, never a handle, and does not check them. The
 * scalar kernel of a layout is its definition; all others must agree with it bit for bit. `units`
 * is the range of a digest's first reduction: blocks (blocked), lines (ribbon), bits or counters. A
 * body may have any alignment, except for the functions on shared bodies, which need 64 bytes. */
#ifndef BLOOMFILE_KERNEL_H
#define BLOOMFILE_KERNEL_H

#include <bloomfile.h>
#include <stdatomic.h>

/* The arguments of a lookup. */
struct kernel_view {
    const uint8_t *body;
    uint64_t units;
    unsigned k;
    _Atomic uint32_t *shapes; /* ribbon: the shape of each page, or 0 if its head was not read yet.
                                 NULL: each lookup reads the head */
    uint64_t ignored;         /* blocked: kernel_ignored(k), for contains_few() */
};

struct kernel_tally {
    uint64_t ones;        /* bits that are one; counting: counters above 0 */
    uint64_t overflow;    /* counting: counters at 15 */
    uint64_t blocks[513]; /* blocked: blocks[i] counts blocks with i set bits. ribbon: blocks[i] is
                             the weight of the lookups that compare i columns */
    uint64_t keys;        /* ribbon: sum of the key counts in the page heads */
    uint64_t not_heads;   /* ribbon: pages without a valid head */
    bool more_keys;       /* ribbon: a head's count is at its maximum, so `keys` is a lower bound */
};

/* The effect of adds; removals count negatively. */
struct kernel_change {
    int64_t keys; /* keys that were new */
    int64_t ones;
    int64_t overflow;
};

/* Digests that set no bit. These may have been added before; all others are certainly new. */
struct kernel_idle {
    uint64_t *digests; /* the first `most` of them */
    size_t most;
    size_t count; /* if above `most`, `digests` is incomplete */
};

/* The number of positions in a byte, for layouts whose keys have positions anywhere in the body. */
enum kernel_density {
    KERNEL_LOCAL = 0, /* all positions of a key lie in one unit */
    KERNEL_BITS = 8,
    KERNEL_COUNTERS = 2,
};

struct ribbon_solve_memory;

struct kernel {
    const char *name;
    enum kernel_density density;
    bool (*contains)(const struct kernel_view *view, uint64_t digest);
    /* contains() for k up to PROBE_SLICES. NULL if the layout is not blocked. */
    bool (*contains_few)(const struct kernel_view *view, uint64_t digest);
    /* hits may be NULL. Returns the number of hits. */
    size_t (*contains_many)(const struct kernel_view *view, const uint64_t *digests, size_t n,
                            bool *hits);
    /* Whether any of `count` > 0 bodies has the key. views[0].ignored must be the OR of `ignored`
     * of all views; hits must not be NULL. NULL if the layout is not blocked. */
    bool (*contains_any)(const struct kernel_view *views, size_t count, uint64_t digest);
    size_t (*contains_any_many)(const struct kernel_view *views, size_t count,
                                const uint64_t *digests, size_t n, bool *hits);
    /* contains_many() for digests whose cache lines were prefetched by the caller. */
    size_t (*contains_ready)(const struct kernel_view *view, const uint64_t *digests, size_t n,
                             bool *hits);
    /* Prefetches the cache lines that lookups of these digests read first. */
    void (*expect)(const struct kernel_view *view, const uint64_t *digests, size_t n);
    /* Writes a page of `lines` lines, which must be zeros, from its n distinct digests, of which it
     * reads at most RIBBON_KEYS. Then looks up each digest. Returns false if a lookup fails: this
     * machine computes wrongly. NULL if the layout adds keys instead. */
    bool (*solve)(uint8_t *page, unsigned lines, const uint64_t *digests, uint64_t n,
                  struct ribbon_solve_memory *memory);
    /* A kernel with solve() has none of the functions from here to remove_shared(). Adds to a part
     * of a body that only the caller uses, by plain stores. The part has units `first`, which must
     * begin a byte, to `last` - 1. Positions outside the part are ignored. Blocked: all digests
     * must belong to the part; digests that set no bit are appended to `idle`, unless it is
     * NULL. */
    void (*add_part)(uint8_t *part, uint64_t first, uint64_t last, uint64_t units, unsigned k,
                     const uint64_t *digests, size_t n, struct kernel_idle *idle);
    /* Adds positions, relative to the first unit of the part. NULL if the density is local. */
    void (*put)(uint8_t *part, const uint32_t *positions, size_t n);
    /* Adds to a body, aligned to 64 bytes, that other threads and processes read and change at the
     * same time. was_new may be NULL. The effect is added to *change. */
    void (*add_shared)(uint8_t *body, uint64_t units, unsigned k, const uint64_t *digests, size_t n,
                       bool *was_new, struct kernel_change *change);
    /* add_shared() for the only writer of a body, without locked instructions. Other threads may
     * read the body. NULL if it would not be faster. */
    void (*add_alone)(uint8_t *body, uint64_t units, unsigned k, const uint64_t *digests, size_t n,
                      bool *was_new, struct kernel_change *change);
    /* add_shared() and add_alone() for one key. Return the number of bits set. May be NULL. */
    unsigned (*set_shared)(uint8_t *body, uint64_t units, unsigned k, uint64_t digest);
    unsigned (*set_alone)(uint8_t *body, uint64_t units, unsigned k, uint64_t digest);
    /* Undoes one add of a key. Returns false, and changes nothing, if the key is certainly absent.
     * Other threads may add concurrently, but not remove. NULL if keys cannot be removed. */
    bool (*remove_shared)(uint8_t *body, uint64_t units, unsigned k, uint64_t digest,
                          struct kernel_change *change);
    /* Counts `size` bytes into the tally; blocked: a multiple of 64. */
    void (*tally)(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
    /* Like tally(), but may skip the tally's blocks, which is faster. */
    void (*count)(const uint8_t *bytes, size_t size, struct kernel_tally *tally);
    /* Folds units `first` to `first + count - 1` into `to`. Unit i goes into unit i / factor: by OR
     * or, if counting, by addition up to 15. `from` begins with unit `first`; if the factor is 1,
     * that unit must begin a byte of `to`. */
    void (*fold)(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count, uint64_t factor);
    /* ORs in a bit for each counter above 0 in `size` bytes. NULL if the layout has no counters. */
    void (*project)(uint8_t *to, const uint8_t *from, size_t size);
};

/* ---- The kernels, one per instruction set and layout. ribbon.h declares those of ribbon. */

extern const struct kernel kernel_blocked_scalar;
extern const struct kernel kernel_blocked_avx2;   /* x86-64 */
extern const struct kernel kernel_blocked_avx512; /* x86-64 */
extern const struct kernel kernel_blocked_vbmi;   /* x86-64 */
extern const struct kernel kernel_blocked_neon;   /* AArch64 */
extern const struct kernel kernel_classic_scalar;
extern const struct kernel kernel_classic_avx512; /* x86-64 */
extern const struct kernel kernel_counting_scalar;
extern const struct kernel kernel_counting_avx512; /* x86-64 */

/* ---- blocked/blocked.c: bloomfile_block_ignored() of the slices of k in the first product */
uint64_t kernel_ignored(unsigned k);

/* ---- Functions that several tables share: scattered/add_private.c */
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
