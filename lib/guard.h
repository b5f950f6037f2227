/* SPDX-License-Identifier: MIT
 *
 * Lazy verification: each page of a body is checked against its checksum before the first answer
 * that relies on it, and the outcome is remembered. Safe from any number of threads.
 */
#ifndef BLOOMFILE_GUARD_H
#define BLOOMFILE_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard {
    const uint8_t *body, *checksums;
    uint64_t body_size, pages;
    _Atomic uint64_t *known_good; /* a bit a page */
    _Atomic uint64_t *known_bad;
    _Atomic uint64_t unknown; /* pages not known to be good */
    _Atomic uint64_t bad;
    atomic_int error; /* 0, or the first damage met: the handle's sticky error */
};

/* Every page unknown, or every page taken for good without a look. 0 or ENOMEM, and then too
 * guard_release() is due. */
int guard_start(struct guard *g, const uint8_t *body, uint64_t body_size, uint64_t pages,
                bool trust);
void guard_release(struct guard *g);

size_t guard_page_size(const struct guard *g, uint64_t page);

/* Says that a page was found good or bad; bad is for good. */
void guard_set(struct guard *g, uint64_t page, bool good);

/* Checks a page now and remembers. */
bool guard_check(struct guard *g, uint64_t page);

void guard_set_error(struct guard *g, int error);

static inline bool guard_all_good(const struct guard *g)
{
    return atomic_load_explicit(&g->unknown, memory_order_acquire) == 0;
}

/* Whether the byte of the body may be relied on. */
static inline bool guard_ok(struct guard *g, uint64_t byte)
{
    uint64_t page = byte / 4096;
    uint64_t word = atomic_load_explicit(&g->known_good[page / 64], memory_order_acquire);
    return (word >> page % 64 & 1) != 0 || guard_check(g, page);
}

#endif
