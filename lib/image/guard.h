/* SPDX-License-Identifier: MIT
 * Lazy verification: a page is checked against its checksum before the first answer that depends on
 * it, and the result is remembered. Thread-safe.
 *
 * `doubts` counts the pages not known to be good, and other reasons to check. Lookups skip all
 * checks while it is 0. A count that is briefly too high costs a needless check; a count that is
 * too low would let a lookup use an unchecked page. So doubts are added before marks are cleared,
 * and removed after pages are marked. */
#ifndef BLOOMFILE_GUARD_H
#define BLOOMFILE_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/checksum.h"

struct guard {
    const uint8_t *body, *checksums;
    uint64_t body_size;
    uint32_t body_crc;            /* binds the page checksums to the record in force */
    bool trust;                   /* a page is good unless known to be bad */
    _Atomic uint64_t *known_good; /* a bit for each page; all are clear if trusted */
    _Atomic uint64_t *known_bad;
    _Atomic uint64_t *was_good; /* known to be good before guard_forget() */
    _Atomic uint64_t stamp;     /* of the last guard_renew() */
    _Atomic uint64_t renewals;  /* number of guard_forget() calls that began */
    _Atomic uint64_t marking;   /* calls of guard_set() that may still undo their marks */
    _Atomic uint64_t doubts;    /* pages not known to be good, and other reasons to check */
    _Atomic uint64_t *together; /* of a layer: `doubts` of its series, see guard_join() */
    _Atomic uint64_t bad;
    atomic_bool distrust; /* the body as a whole is wrong */
    atomic_bool unhashed; /* a key was looked up whose digest is unknown */
    atomic_int error;     /* the handle's sticky error: 0, the first damage found, or ECHANGED */
    _Atomic uint32_t *shapes; /* ribbon: as in struct kernel_view; else NULL */
    uint64_t lines;           /* ribbon: lines of the body */
};

/* Starts with every page unknown or, if `trust`, good. Returns 0 or ENOMEM. Call guard_release() in
 * both cases. */
int guard_start(struct guard *g, const uint8_t *body, uint64_t body_size, uint32_t body_crc,
                bool trust);
void guard_release(struct guard *g);
/* Its memory from malloc(), in bytes. */
size_t guard_heap(const struct guard *g);

/* Stops trusting a body that has page checksums now, such as a live filter just sealed: pages are
 * checked before the next answer that depends on them. No other thread may use the guard. */
void guard_restart(struct guard *g, uint32_t body_crc);

/* guard_forget() forgets which pages are good, because the file may have changed. guard_renew()
 * does so once for each stamp. A page that was good and fails its next check sets
 * BLOOMFILE_ECHANGED, because earlier answers relied on it. guard_recheck() checks all such
 * pages. */
void guard_forget(struct guard *g);
void guard_renew(struct guard *g, uint64_t stamp);
void guard_recheck(struct guard *g);

/* The number of guard_forget() calls that began. Read it before hashing a page, and pass it to
 * guard_set(). */
static inline uint64_t guard_renewals(const struct guard *g)
{
    return atomic_load(&g->renewals);
}

/* Marks a page as good or bad. Bad is final, and sets BLOOMFILE_ECHANGED if the page was good
 * before. If guard_forget() began after `renewals` was read, a good page will be checked again.
 * Reads the head of a good page again, because the remembered head may date from a moment when the
 * page was bad. */
void guard_set(struct guard *g, uint64_t page, bool good, uint64_t renewals);

/* guard_set() for good pages in two steps, for callers that check many pages. guard_remember_head()
 * stores what lookups need of a page's head (ribbon), after the check of the page. guard_set_good()
 * marks pages: bit i of `pages` is page 64 * word + i. */
void guard_remember_head(struct guard *g, uint64_t page);
void guard_set_good(struct guard *g, uint64_t word, uint64_t pages, uint64_t renewals);

/* Add and remove a doubt that concerns no page: guard_all_good() is false meanwhile. */
void guard_doubt(struct guard *g);
void guard_undoubt(struct guard *g);

/* Between guard_join() and guard_leave() the doubts of a layer also count in the guard of its
 * series, except the one doubt that every layer has because its bits alone are not an answer. No
 * other thread may use the layer during these calls. */
void guard_join(struct guard *layer, struct guard *series);
void guard_leave(struct guard *layer);

/* Treats every page as bad from now on. */
void guard_distrust(struct guard *g, int error);

/* Returns whether guard_distrust() was called. Then the error is set, and the body need not be
 * read. */
static inline bool guard_distrusted(const struct guard *g)
{
    return atomic_load_explicit(&g->distrust, memory_order_acquire);
}

/* guard_ok() for a page not known to be good: checks it and remembers the result. */
bool guard_check(struct guard *g, uint64_t page);

/* Copies a page that was good before. Returns whether the copy is good. */
bool guard_copy(const struct guard *g, uint64_t page, uint8_t *to);

static inline bool guard_all_good(const struct guard *g)
{
    return atomic_load_explicit(&g->doubts, memory_order_acquire) == 0;
}

/* Like guard_all_good(), but allows for one doubt that the caller knows. */
static inline bool guard_only_doubt(const struct guard *g)
{
    return atomic_load_explicit(&g->doubts, memory_order_acquire) == 1;
}

/* Returns whether the page of this byte has not been checked yet. Not for a guard with `trust`. */
static inline bool guard_unknown(const struct guard *g, uint64_t byte)
{
    const uint64_t page = byte / CHECKSUM_PAGE;
    const uint64_t known = atomic_load_explicit(&g->known_good[page / 64], memory_order_relaxed) |
                           atomic_load_explicit(&g->known_bad[page / 64], memory_order_relaxed);
    return (known >> page % 64 & 1) == 0;
}

/* Returns whether the byte of the body may be trusted. */
static inline bool guard_ok(struct guard *g, uint64_t byte)
{
    uint64_t page = byte / CHECKSUM_PAGE;
    if (guard_distrusted(g))
        return false;
    uint64_t word = atomic_load_explicit(&g->known_good[page / 64], memory_order_acquire);
    return (word >> page % 64 & 1) != 0 || guard_check(g, page);
}

#endif
