/* SPDX-License-Identifier: MIT
 * Two bits a page: known to be good, known to be bad. */
#include "image/guard.h"

#include <bloomfile.h>
#include <errno.h>
#include <stdlib.h>

#include "format/bytes.h"
#include "format/ribbon.h"

int guard_start(struct guard *g, const uint8_t *body, uint64_t body_size, uint32_t body_crc,
                bool trust)
{
    uint64_t pages = checksum_pages(body_size);
    *g = (struct guard){ .body = body,
                         .checksums = body + body_size,
                         .body_size = body_size,
                         .body_crc = body_crc,
                         .trust = trust,
                         .doubts = trust ? 0 : pages };
    size_t words = (size_t)(pages / 64 + 1);
    g->known_good = calloc(2 * words, sizeof *g->known_good);
    if (g->known_good == NULL)
        return ENOMEM;
    g->known_bad = g->known_good + words;
    return 0;
}

/* What is known stays: bad pages, and the error. */
void guard_restart(struct guard *g, uint32_t body_crc)
{
    g->body_crc = body_crc;
    g->trust = false;
    atomic_fetch_add(&g->doubts, checksum_pages(g->body_size));
}

void guard_release(struct guard *g)
{
    free(g->known_good); /* and known_bad */
}

static void set_error(struct guard *g, int error)
{
    int none = 0;
    atomic_compare_exchange_strong(&g->error, &none, error);
}

/* Sets or clears a page's bit; returns whether that changed it. */
static bool change(_Atomic uint64_t *map, uint64_t page, bool set)
{
    const uint64_t bit = 1ULL << page % 64;
    uint64_t before =
        set ? atomic_fetch_or(&map[page / 64], bit) : atomic_fetch_and(&map[page / 64], ~bit);
    return ((before & bit) != 0) != set;
}

static bool known_bad(const struct guard *g, uint64_t page)
{
    return (atomic_load(&g->known_bad[page / 64]) >> page % 64 & 1) != 0;
}

static void set_bad(struct guard *g, uint64_t page)
{
    set_error(g, BLOOMFILE_EPAGE);
    bool first = change(g->known_bad, page, true);
    if (first)
        atomic_fetch_add(&g->bad, 1);
    if (g->trust ? first : change(g->known_good, page, false))
        atomic_fetch_add(&g->doubts, 1);
}

/* If another thread found the page bad meanwhile, it is bad. The doubts are lowered last, so that
 * they are never too few, not even for a moment. */
static void set_good(struct guard *g, uint64_t page)
{
    if (g->trust || known_bad(g, page) || !change(g->known_good, page, true))
        return;
    bool undone = known_bad(g, page) && change(g->known_good, page, false);
    if (!undone)
        atomic_fetch_sub(&g->doubts, 1);
}

static void remember_head(struct guard *g, uint64_t page)
{
    if (g->shapes != NULL)
        atomic_store(&g->shapes[page], ribbon_shape_of(get64(g->body + page * CHECKSUM_PAGE),
                                                       ribbon_lines(page, g->lines)));
}

void guard_set(struct guard *g, uint64_t page, bool good)
{
    if (good) {
        remember_head(g, page);
        set_good(g, page);
    } else {
        set_bad(g, page);
    }
}

void guard_doubt(struct guard *g)
{
    atomic_fetch_add(&g->doubts, 1);
}

void guard_undoubt(struct guard *g)
{
    atomic_fetch_sub(&g->doubts, 1);
}

void guard_distrust(struct guard *g, int error)
{
    set_error(g, error);
    if (!atomic_exchange(&g->distrust, true))
        guard_doubt(g);
}

static bool matches(const struct guard *g, uint64_t page, const uint8_t *bytes)
{
    return checksum(bytes, checksum_page_size(g->body_size, page)) ==
           checksum_of_entry(g->checksums, page, g->body_crc);
}

bool guard_copy(const struct guard *g, uint64_t page, uint8_t *to)
{
    checksum_copy(to, g->body + page * CHECKSUM_PAGE, checksum_page_size(g->body_size, page));
    return matches(g, page, to);
}

bool guard_check(struct guard *g, uint64_t page)
{
    if (known_bad(g, page))
        return false;
    if (g->trust)
        return true;
    const bool good = matches(g, page, g->body + page * CHECKSUM_PAGE);
    guard_set(g, page, good);
    return good;
}
