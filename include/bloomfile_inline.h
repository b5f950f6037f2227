/* SPDX-License-Identifier: MIT
 *
 * bloomfile_inline.h - lookups that are compiled into the caller
 *
 *     struct bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
 *     int error = bloomfile_pin(f, &pin);              // once a handle
 *     ...
 *     bloomfile_digest digest = bloomfile_pinned_digest(&pin, key, size);
 *     if (!bloomfile_pinned_contains_digest(&pin, digest))
 *         return NOT_FOUND;                            // certainly not
 *
 * This header is for storage engines, which look up one key at a time. A pin is a copy of the
 * members of a handle that a lookup needs. The functions here compute the answer inline if the
 * layout is blocked, every page has been verified and a live file is not poisoned; otherwise they
 * call the library. So a pin gives the answers of its handle in every state: damage is "maybe",
 * bloomfile_check() reports it, and a live file that is poisoned later is detected.
 *
 * Open with BLOOMFILE_OPEN_VERIFY_FULL, or with BLOOMFILE_OPEN_VERIFY_NONE if another layer
 * verifies the bytes. With neither flag, pages are verified by the first lookup that touches them,
 * and all lookups call the library until every page is verified.
 *
 * Keys that are known beforehand are prefetched, in groups of 8 to 64:
 *
 *     for (size_t i = 0; i < n; i += 32) {
 *         for (size_t j = i + 32; j < n && j < i + 64; j++)
 *             bloomfile_pinned_prefetch(&pin, digests[j]);
 *         bloomfile_pinned_contains_digests(&pin, digests + i,
 *                                           n - i < 32 ? n - i : 32, hits + i);
 *     }
 *
 * Without prefetching, the cache misses of one small batch do not overlap those of the next:
 * batches of 32 in a filter of 125 MB take 11 ns a key, with prefetching 6. Prefetching never
 * changes an answer, and works with every layout.
 *
 * Cost. Compiled for AVX-512 (-mavx512f -mbmi2, or -march=native; best with VBMI and BITALG), a
 * lookup takes half to nine tenths of the time of bloomfile_contains_digest() in a filter that fits
 * in a cache. In larger filters more cache misses overlap; bench/results/peers-sizes.md has
 * figures. Code for AVX2 is up to 1.6 times as slow as the library where the library can use
 * AVX-512: do not compile it for such processors. Code for processors without AVX2 (or NEON), as
 * distributions compile it, calls the library for every lookup, and the library picks its code at
 * run time: a pin then costs nothing and gains nothing. The same is true of a batch of more than 64
 * digests.
 *
 * If bloomfile_open() or bloomfile_pin() fails, the pin has only its initial value, and answers
 * "maybe".
 *
 * Lifetime. A pin is valid until its handle is closed, in any number of threads. When a handle is
 * stale and you open the file again, pin the new handle.
 *
 * C99 or C++11, by gcc or clang. A program compiled with this header works with every later library
 * of the same soversion. That library answers lookups that a pin cannot express.
 */
#ifndef BLOOMFILE_INLINE_H
#define BLOOMFILE_INLINE_H

#include <bloomfile.h>
#include <bloomfile_block.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pin, for the functions below only: 128 bytes, aligned to 64. Memory of malloc() may be aligned
 * to 16 only: use aligned_alloc(64, ...) for a struct that has a pin. Set it to
 * BLOOMFILE_PINNED_INIT first. A lookup with a pin set to { 0 } crashes: a test for it would cost
 * 2% of a lookup. */
struct bloomfile_pinned {
    const uint64_t *doubts_; /* *doubts_ is 0 if every page is verified */
    const uint8_t *body_;
    const bloomfile_filter *filter_;
    const uint32_t *state_[2]; /* of a live file, in both of its records; else NULL */
    uint64_t ignored_; /* sealed file, at most 6 hashes_: bloomfile_block_ignored(); else 0 */
    uint64_t blocks_;
    uint32_t hashes_;
    uint32_t poisoned_;     /* a state, if the file is poisoned */
    uint64_t live_ignored_; /* the same for a live file */
    uint64_t more_room_[7];
} __attribute__((aligned(64)));

static const uint64_t bloomfile_pinned_unfilled_ __attribute__((unused)) = 1;
#ifdef __cplusplus
static inline struct bloomfile_pinned bloomfile_pinned_init_()
{
    struct bloomfile_pinned pin = bloomfile_pinned();
    pin.doubts_ = &bloomfile_pinned_unfilled_;
    return pin;
}
#define BLOOMFILE_PINNED_INIT bloomfile_pinned_init_()
#else
#define BLOOMFILE_PINNED_INIT ((struct bloomfile_pinned){ .doubts_ = &bloomfile_pinned_unfilled_ })
#endif

/* Fills *pin from an open handle. Returns 0, or BLOOMFILE_EVALUE if `pin` is not aligned to 64
 * bytes; *pin is then unchanged. */
BLOOMFILE_API int bloomfile_pin(const bloomfile_filter *f, struct bloomfile_pinned *pin);

/* ------------------------------------------------------------------------ parts of what follows */

#if defined __SIZEOF_INT128__ && (defined BLOOMFILE_BLOCK_AVX512 ||                                \
                                  defined BLOOMFILE_BLOCK_AVX2 || defined BLOOMFILE_BLOCK_NEON)
#define BLOOMFILE_PINNED_INLINED_ 1
#else
#define BLOOMFILE_PINNED_INLINED_ 0
#endif

static inline __attribute__((always_inline)) bool
bloomfile_pinned_sure_(const struct bloomfile_pinned *pin)
{
    return BLOOMFILE_PINNED_INLINED_ && __atomic_load_n(pin->doubts_, __ATOMIC_ACQUIRE) == 0;
}

static inline bool bloomfile_pinned_ask_(const struct bloomfile_pinned *pin,
                                         bloomfile_digest digest)
{
    return !pin->filter_ || bloomfile_contains_digest(pin->filter_, digest);
}

static inline size_t bloomfile_pinned_ask_many_(const struct bloomfile_pinned *pin,
                                                const bloomfile_digest *digests, size_t n,
                                                bool *hits)
{
    if (pin->filter_)
        return bloomfile_contains_digests(pin->filter_, digests, n, hits);
    for (size_t i = 0; hits && i < n; i++)
        hits[i] = true;
    return n;
}

/* bloomfile_block_has() for at most 6 hashes. `ignored` is ignored_ or live_ignored_ of the pin. */
static inline __attribute__((always_inline)) bool bloomfile_pinned_has_few_(const uint8_t *block,
                                                                            uint64_t ignored,
                                                                            uint32_t hashes,
                                                                            bloomfile_digest digest)
{
#if defined BLOOMFILE_BLOCK_VBMI
    (void)hashes;
    return bloomfile_block_has_all_vbmi(block, ignored, digest);
#elif defined BLOOMFILE_BLOCK_BEST
    (void)ignored;
    return BLOOMFILE_BLOCK_BEST(bloomfile_block_has_few)(block, hashes, digest);
#endif
}

/* Returns true if clear bits are a certain "no". The state of a live file must be read after its
 * bits: after a failed write the kernel may read the page again from disk, without its recent bits,
 * and the writer that saw the failure records it in the state. */
static inline __attribute__((always_inline)) bool
bloomfile_pinned_absent_(const struct bloomfile_pinned *pin)
{
    if (!pin->state_[0])
        return true;
#if defined __x86_64__
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    return __atomic_load_n(pin->state_[0], __ATOMIC_RELAXED) != pin->poisoned_ &&
           __atomic_load_n(pin->state_[1], __ATOMIC_RELAXED) != pin->poisoned_ &&
           bloomfile_pinned_sure_(pin);
}

/* ----------------------------------------------------------------------------------- looking up */

/* As bloomfile_digest_of() of the handle. Returns 0 if the pin is not filled. */
static inline bloomfile_digest bloomfile_pinned_digest(const struct bloomfile_pinned *pin,
                                                       const void *key, size_t size)
{
    return pin->filter_ ? bloomfile_digest_of(pin->filter_, key, size) : 0;
}

/* As bloomfile_contains_digest() of the handle. Returns true if the pin is not filled. */
static inline bool bloomfile_pinned_contains_digest(const struct bloomfile_pinned *pin,
                                                    bloomfile_digest digest)
{
    if (!bloomfile_pinned_sure_(pin))
        return bloomfile_pinned_ask_(pin, digest);
    const uint8_t *block = bloomfile_block_of(pin->body_, pin->blocks_, digest);
    if (__builtin_expect(pin->ignored_ != 0, 1))
        return bloomfile_pinned_has_few_(block, pin->ignored_, pin->hashes_, digest);
    if (pin->live_ignored_
            ? bloomfile_pinned_has_few_(block, pin->live_ignored_, pin->hashes_, digest)
            : bloomfile_block_has(block, pin->hashes_, digest))
        return true;
    return !bloomfile_pinned_absent_(pin) && bloomfile_contains_digest(pin->filter_, digest);
}

/* Prefetches the cache line that a later lookup of the digest reads, or two lines if the body is
 * not aligned to 64 bytes. Call it for the next group of keys before you look up this group, or
 * before other work. */
static inline void bloomfile_pinned_prefetch(const struct bloomfile_pinned *pin,
                                             bloomfile_digest digest)
{
    const uint8_t *block = bloomfile_block_of(pin->body_, pin->blocks_, digest);
    __builtin_prefetch(block);
    if (bloomfile_block_is_split(pin->body_))
        __builtin_prefetch(block + 63);
}

/* Like bloomfile_contains_digests(), for a group of 2 to 64 keys: requests all their cache lines
 * before it tests the first. A larger group goes to the library. */
static inline size_t bloomfile_pinned_contains_digests(const struct bloomfile_pinned *pin,
                                                       const bloomfile_digest *digests, size_t n,
                                                       bool *hits)
{
    const struct bloomfile_pinned copy = *pin; /* which storing hits cannot change */
    size_t found = 0;
    if (n > 64 || !bloomfile_pinned_sure_(&copy))
        return bloomfile_pinned_ask_many_(&copy, digests, n, hits);
    for (size_t i = 0; i < n; i++)
        bloomfile_pinned_prefetch(&copy, digests[i]);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *block = bloomfile_block_of(copy.body_, copy.blocks_, digests[i]);
        const bool hit = bloomfile_block_has(block, copy.hashes_, digests[i]);
        if (hits)
            hits[i] = hit;
        found += hit;
    }
    if (found < n && !bloomfile_pinned_absent_(&copy))
        return bloomfile_contains_digests(pin->filter_, digests, n, hits);
    return found;
}

#ifdef __cplusplus
}
#endif

#endif
