/* SPDX-License-Identifier: MIT
 * Lazy verification, with two bits for each page: known to be good, known to be bad. */
#include "image/guard.h"

#include <bloomfile.h>
#include <errno.h>
#include <stdlib.h>

#include "format/bytes.h"
#include "format/ribbon.h"

/* The number of words of each map. */
static size_t words_of(const struct guard *g)
{
    return (size_t)(checksum_pages(g->body_size) / 64 + 1);
}

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
    const size_t words = words_of(g);
    g->known_good = calloc(3 * words, sizeof *g->known_good);
    if (g->known_good == NULL)
        return ENOMEM;
    g->known_bad = g->known_good + words;
    g->was_good = g->known_bad + words;
    return 0;
}

size_t guard_heap(const struct guard *g)
{
    return 3 * words_of(g) * sizeof *g->known_good;
}

/* The count of the series is incremented first and decremented last, so it is never too low. */
static void add_doubts(struct guard *g, uint64_t count)
{
    if (g->together != NULL)
        atomic_fetch_add(g->together, count);
    atomic_fetch_add(&g->doubts, count);
}

static void remove_doubts(struct guard *g, uint64_t count)
{
    atomic_fetch_sub(&g->doubts, count);
    if (g->together != NULL)
        atomic_fetch_sub(g->together, count);
}

/* Keeps the marks of bad pages, and the error. */
void guard_restart(struct guard *g, uint32_t body_crc)
{
    g->body_crc = body_crc;
    g->trust = false;
    add_doubts(g, checksum_pages(g->body_size));
}

void guard_release(struct guard *g)
{
    free(g->known_good); /* and the other maps */
}

/* The first error is kept. But an error of the library replaces an errno, and ECHANGED replaces any
 * error, because it means that any answer may have been wrong. */
static void set_error(struct guard *g, int error)
{
    int seen = atomic_load(&g->error);
    while ((seen == 0 || (seen > 0 && error < 0) || error == BLOOMFILE_ECHANGED) &&
           !atomic_compare_exchange_weak(&g->error, &seen, error))
        ;
}

static unsigned number_of(uint64_t bits)
{
    return (unsigned)__builtin_popcountll(bits);
}

/* Sets or clears some bits of a word of 64 pages. Returns the bits that this changed. */
static uint64_t change_bits(_Atomic uint64_t *word, uint64_t bits, bool set)
{
    return bits & (set ? ~atomic_fetch_or(word, bits) : atomic_fetch_and(word, ~bits));
}

/* change_bits() for one page. Returns whether its bit changed. */
static bool change_bit(_Atomic uint64_t *map, uint64_t page, bool set)
{
    return change_bits(&map[page / 64], 1ULL << page % 64, set) != 0;
}

static bool has_bit(_Atomic uint64_t *map, uint64_t page)
{
    return (atomic_load(&map[page / 64]) >> page % 64 & 1) != 0;
}

static bool known_bad(const struct guard *g, uint64_t page)
{
    return has_bit(g->known_bad, page);
}

static void set_bad(struct guard *g, uint64_t page)
{
    set_error(g, BLOOMFILE_EPAGE);
    const bool first = change_bit(g->known_bad, page, true);
    const bool good_until_now = change_bit(g->known_good, page, false);
    if (first)
        atomic_fetch_add(&g->bad, 1);
    if (g->trust ? first : good_until_now)
        add_doubts(g, 1);
    if (good_until_now || has_bit(g->was_good, page))
        guard_distrust(g, BLOOMFILE_ECHANGED);
}

/* Does not mark a page that another thread found bad. `doubts` is decremented last, so that it is
 * never too low. */
static void set_good(struct guard *g, uint64_t word, uint64_t pages)
{
    pages &= ~atomic_load(&g->known_bad[word]);
    if (pages == 0)
        return;
    uint64_t marked = change_bits(&g->known_good[word], pages, true);
    const uint64_t bad = marked & atomic_load(&g->known_bad[word]);
    if (bad != 0)
        marked &= ~change_bits(&g->known_good[word], bad, false);
    remove_doubts(g, number_of(marked));
}

void guard_remember_head(struct guard *g, uint64_t page)
{
    if (g->shapes != NULL)
        atomic_store(&g->shapes[page], ribbon_shape_of(get64(g->body + page * CHECKSUM_PAGE),
                                                       ribbon_lines(page, g->lines)));
}

/* Undoes marks that guard_forget() may have missed, because it began before they were set. Answers
 * may rely on the earlier contents of these pages, so they become pages that "were good", as in
 * guard_forget(). */
static void take_back(struct guard *g, uint64_t word, uint64_t pages)
{
    atomic_fetch_or(&g->was_good[word], pages);
    add_doubts(g, number_of(pages)); /* so that the count is never too low */
    const uint64_t cleared = change_bits(&g->known_good[word], pages, false);
    remove_doubts(g, number_of(pages & ~cleared));
    if ((pages & atomic_load(&g->known_bad[word])) != 0)
        guard_distrust(g, BLOOMFILE_ECHANGED);
}

void guard_set_good(struct guard *g, uint64_t word, uint64_t pages, uint64_t renewals)
{
    if (g->trust)
        return;
    atomic_fetch_add(&g->marking, 1);
    set_good(g, word, pages);
    if (guard_renewals(g) != renewals)
        take_back(g, word, pages);
    atomic_fetch_sub(&g->marking, 1);
}

void guard_set(struct guard *g, uint64_t page, bool good, uint64_t renewals)
{
    if (!good) {
        set_bad(g, page);
        return;
    }
    guard_remember_head(g, page);
    guard_set_good(g, page / 64, 1ULL << page % 64, renewals);
}

/* ---- Renewal: after the file changed, all pages must be checked again. The race is with a thread
 * that hashed a page before the change and marks it as good afterwards. guard_forget() first
 * increments `renewals`, then clears the marks. guard_set_good() first marks, then compares
 * `renewals` with its value from before the page was hashed. So either guard_forget() sees the
 * mark, or guard_set_good() sees the new value and undoes the mark. */

/* Keeps the marks set during the call: those pages were checked after the change. */
void guard_forget(struct guard *g)
{
    atomic_fetch_add(&g->renewals, 1); /* first: pages that are being hashed must not count */
    guard_doubt(g);                    /* so that the count is never too low */
    for (size_t i = words_of(g); i-- > 0;) {
        const uint64_t good = atomic_load(&g->known_good[i]);
        atomic_fetch_or(&g->was_good[i], good);
        const uint64_t before = atomic_fetch_and(&g->known_good[i], ~good);
        add_doubts(g, number_of(before & good));
    }
    guard_undoubt(g);
}

void guard_renew(struct guard *g, uint64_t stamp)
{
    if (atomic_load(&g->stamp) == stamp)
        return;
    guard_forget(g);
    atomic_store(&g->stamp, stamp);
}

/* While a mark may still be undone, a marked page may be one that only "was good": check all
 * pages. */
void guard_recheck(struct guard *g)
{
    const size_t words = words_of(g);
    const uint64_t all = atomic_load(&g->marking) != 0 && guard_renewals(g) != 0 ? UINT64_MAX : 0;
    for (uint64_t word = 0; word < words; word++) {
        const uint64_t good = atomic_load(&g->known_good[word]);
        uint64_t due = (atomic_load(&g->was_good[word]) & ~good) | (good & all);
        for (; due != 0; due &= due - 1)
            guard_check(g, 64 * word + (unsigned)__builtin_ctzll(due));
    }
}

/* ---- reasons for doubt */

void guard_doubt(struct guard *g)
{
    add_doubts(g, 1);
}

void guard_undoubt(struct guard *g)
{
    remove_doubts(g, 1);
}

void guard_join(struct guard *layer, struct guard *series)
{
    layer->together = &series->doubts;
    atomic_fetch_add(layer->together, atomic_load(&layer->doubts) - 1);
}

void guard_leave(struct guard *layer)
{
    if (layer->together != NULL)
        atomic_fetch_sub(layer->together, atomic_load(&layer->doubts) - 1);
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
    const uint64_t renewals = guard_renewals(g);
    const bool good = matches(g, page, g->body + page * CHECKSUM_PAGE);
    guard_set(g, page, good, renewals);
    return good;
}
