/* SPDX-License-Identifier: MIT */
#include "guard.h"

#include <bloomfile.h>
#include <errno.h>
#include <stdlib.h>

#include "bytes.h"
#include "checksum.h"

int guard_start(struct guard *g, const uint8_t *body, uint64_t body_size, uint64_t pages,
                bool trust)
{
    *g = (struct guard){ .body = body,
                         .checksums = body + body_size,
                         .body_size = body_size,
                         .pages = pages,
                         .unknown = trust ? 0 : pages };
    size_t words = (size_t)(pages / 64 + 1);
    g->known_good = calloc(words, sizeof *g->known_good);
    g->known_bad = calloc(words, sizeof *g->known_bad);
    if (g->known_good == NULL || g->known_bad == NULL)
        return ENOMEM;
    for (size_t i = 0; trust && i < words; i++)
        atomic_init(&g->known_good[i], UINT64_MAX);
    return 0;
}

void guard_release(struct guard *g)
{
    free(g->known_good);
    free(g->known_bad);
}

size_t guard_page_size(const struct guard *g, uint64_t page)
{
    uint64_t rest = g->body_size - page * CHECKSUM_PAGE;
    return rest < CHECKSUM_PAGE ? (size_t)rest : CHECKSUM_PAGE;
}

void guard_set_error(struct guard *g, int error)
{
    int none = 0;
    atomic_compare_exchange_strong(&g->error, &none, error);
}

static bool known_bad(const struct guard *g, uint64_t page)
{
    return (atomic_load(&g->known_bad[page / 64]) >> page % 64 & 1) != 0;
}

void guard_set(struct guard *g, uint64_t page, bool good)
{
    const uint64_t bit = 1ULL << page % 64;
    _Atomic uint64_t *good_word = &g->known_good[page / 64];
    if (good) {
        if (!known_bad(g, page) && (atomic_fetch_or(good_word, bit) & bit) == 0)
            atomic_fetch_sub(&g->unknown, 1);
        return;
    }
    guard_set_error(g, BLOOMFILE_EPAGE);
    if ((atomic_fetch_or(&g->known_bad[page / 64], bit) & bit) == 0)
        atomic_fetch_add(&g->bad, 1);
    if ((atomic_fetch_and(good_word, ~bit) & bit) != 0)
        atomic_fetch_add(&g->unknown, 1);
}

bool guard_check(struct guard *g, uint64_t page)
{
    if (known_bad(g, page))
        return false;
    bool good = checksum(g->body + page * CHECKSUM_PAGE, guard_page_size(g, page)) ==
                get32(g->checksums + 4 * page);
    guard_set(g, page, good);
    return good;
}
