/* SPDX-License-Identifier: MIT
 * Tests of the guard: its knowledge about pages of a body, and the effect on lookups. */
#include "support.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "image/guard.h"

enum {
    PAGE = 4096,
    PAGES = 130, /* more than two words of bits */
    BODY = PAGE * PAGES - 100,
    BODY_CRC = 0x12345678,
};

static uint8_t body[BODY + 4 * PAGES]; /* followed by the table of checksums */

static int make_body(void **state)
{
    uint64_t random = 30;
    for (size_t i = 0; i < BODY; i++)
        body[i] = (uint8_t)random64(&random);
    for (size_t page = 0; page < PAGES; page++)
        put32(body + BODY + 4 * page,
              checksum(body + page * PAGE, checksum_page_size(BODY, page)) ^ BODY_CRC);
    return 0;
}

static struct guard new_guard(bool trust)
{
    struct guard g;
    assert_error(guard_start(&g, body, BODY, BODY_CRC, trust), 0);
    return g;
}

static void damage(size_t page)
{
    body[page * PAGE + 7] ^= 0x10;
}

static const size_t some_pages[] = { 0, 1, 63, 64, 127, 128, PAGES - 1 };

/* ---- one thread */

TEST(result_of_a_page_check_is_remembered)
{
    struct guard g = new_guard(false);
    for (size_t i = 0; i < ROWS(some_pages); i++) {
        const size_t page = some_pages[i];
        const bool good = i % 2 == 0;
        assert_true(guard_unknown(&g, page * PAGE));
        for (unsigned look = 0; look < 2; look++) { /* good content, then bad */
            if (good == (look == 1))
                damage(page);
            assert_int_equal(guard_ok(&g, page * PAGE), good);
            assert_false(guard_unknown(&g, page * PAGE));
            if (good == (look == 1))
                damage(page);
        }
    }
    assert_int_equal(g.bad, ROWS(some_pages) / 2);
    guard_release(&g);
}

TEST(page_marked_good_is_not_checked)
{
    struct guard g = new_guard(true);
    guard_set(&g, 0, false, 0);
    damage(1);
    assert_false(guard_ok(&g, PAGE - 1));
    assert_true(guard_ok(&g, PAGE));
    damage(1);
    assert_int_equal(g.bad, 1);
    guard_distrust(&g, BLOOMFILE_EBODY);
    assert_false(guard_ok(&g, PAGE));
    guard_release(&g);
}

TEST(page_of_a_distrusted_body_is_never_good)
{
    struct guard g = new_guard(false);
    assert_true(guard_ok(&g, 0));
    guard_distrust(&g, BLOOMFILE_EBODY);
    assert_false(guard_ok(&g, 0));
    assert_false(guard_ok(&g, PAGE));
    assert_int_equal(g.bad, 0);
    guard_release(&g);
}

TEST(each_bad_page_counts_once)
{
    for (unsigned trust = 0; trust < 2; trust++) {
        struct guard g = new_guard(trust != 0);
        for (size_t page = 0; page < PAGES; page++) {
            assert_int_equal(guard_all_good(&g), trust);
            if (page != 64)
                guard_set(&g, page, true, 0);
        }
        assert_int_equal(guard_all_good(&g), trust);
        assert_int_equal(guard_only_doubt(&g), !trust);
        guard_doubt(&g);
        assert_int_equal(guard_only_doubt(&g), trust);
        assert_false(guard_all_good(&g));
        guard_undoubt(&g);
        assert_int_equal(guard_all_good(&g), trust);
        for (unsigned i = 0; i < 2; i++) {
            guard_set(&g, 64, false, 0);
            assert_true(guard_only_doubt(&g) && !guard_all_good(&g));
        }
        guard_set(&g, 64, true, 0);
        assert_true(guard_only_doubt(&g)); /* bad is final */
        guard_distrust(&g, BLOOMFILE_EBODY);
        guard_distrust(&g, BLOOMFILE_EBODY);
        assert_true(!guard_only_doubt(&g) && !guard_all_good(&g));
        guard_undoubt(&g);
        assert_true(guard_only_doubt(&g));
        assert_error(g.error, BLOOMFILE_EPAGE);
        guard_release(&g);
    }
}

/* ---- pages that were good earlier */

static void check_all(struct guard *g)
{
    for (size_t page = 0; page < PAGES; page++)
        guard_ok(g, page * PAGE);
}

TEST(good_page_that_becomes_bad_makes_all_pages_untrusted)
{
    for (unsigned renewed = 0; renewed < 2; renewed++) {
        struct guard g = new_guard(false);
        assert_true(guard_ok(&g, 0));
        if (renewed)
            guard_renew(&g, 1);
        damage(0);
        if (renewed)
            assert_false(guard_ok(&g, 0));
        else
            guard_set(&g, 0, false, 0);
        damage(0);
        assert_error(g.error, BLOOMFILE_ECHANGED);
        assert_true(guard_distrusted(&g));
        assert_false(guard_ok(&g, PAGE));
        assert_int_equal(g.bad, 1);
        guard_release(&g);
    }
}

TEST(renewed_pages_are_checked_again)
{
    struct guard g = new_guard(false);
    for (uint64_t stamp = 1; stamp < 4; stamp++) {
        check_all(&g);
        assert_true(guard_all_good(&g));
        guard_renew(&g, stamp);
        for (size_t page = 0; page < PAGES; page++)
            assert_true(guard_unknown(&g, page * PAGE));
        assert_int_equal(g.doubts, PAGES);
        assert_true(guard_ok(&g, 64 * PAGE));
        guard_renew(&g, stamp); /* already known */
        assert_int_equal(g.doubts, PAGES - 1);
    }
    assert_error(g.error, 0);
    guard_release(&g);
}

TEST(recheck_covers_only_pages_that_were_good)
{
    for (size_t i = 0; i < ROWS(some_pages); i++) {
        struct guard g = new_guard(false);
        for (size_t at = 0; at < ROWS(some_pages); at++)
            assert_true(guard_ok(&g, some_pages[at] * PAGE));
        guard_renew(&g, 1);
        damage(2);
        guard_recheck(&g);
        assert_error(g.error, 0);
        assert_int_equal(g.doubts, PAGES - ROWS(some_pages));
        assert_true(guard_unknown(&g, 2 * PAGE));
        assert_false(guard_ok(&g, 2 * PAGE));
        assert_error(g.error, BLOOMFILE_EPAGE); /* no result relied on it */
        damage(2);

        guard_renew(&g, 2);
        damage(some_pages[i]);
        guard_recheck(&g);
        damage(some_pages[i]);
        assert_error(g.error, BLOOMFILE_ECHANGED);
        guard_release(&g);
    }
}

/* ---- two threads: one is stopped when it touches protected memory, and the other one runs then */

enum {
    MAP = 1 << 16 /* whole pages of any system */
};

static struct {
    struct guard *guard;
    uint8_t *maps;   /* of pages known to be good, and of pages known to be bad */
    unsigned moment; /* at this touch, the other thread finds page 0 bad */
    volatile unsigned touches;
} meanwhile;

static void hold(size_t offset)
{
    assert_int_equal(mprotect(meanwhile.maps + offset, MAP, PROT_NONE), 0);
}

static void on_touch(int number)
{
    if (++meanwhile.touches > 2)
        signal(number, SIG_DFL);
    mprotect(meanwhile.maps, (size_t)2 * MAP, PROT_READ | PROT_WRITE);
    if (meanwhile.touches < meanwhile.moment)
        hold(MAP);
    else
        guard_set(meanwhile.guard, 0, false, 0);
}

/* This thread finds page 0 good while the other thread finds it bad. All other pages are good
 * afterwards. */
static void find_good_and_bad(struct guard *g, unsigned moment)
{
    struct sigaction action = { .sa_handler = on_touch }, before;
    uint8_t *maps =
        mmap(NULL, (size_t)2 * MAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(maps != MAP_FAILED);
    _Atomic uint64_t *const good = g->known_good, *const bad = g->known_bad;
    g->known_good = (void *)maps;
    g->known_bad = (void *)(maps + MAP);
    g->known_bad[0] = bad[0];
    meanwhile.guard = g;
    meanwhile.maps = maps;
    meanwhile.moment = moment;
    meanwhile.touches = 0;
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    hold(0);
    guard_set(g, 0, true, 0);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_int_equal(mprotect(maps, (size_t)2 * MAP, PROT_READ | PROT_WRITE), 0);
    for (size_t page = 1; page < PAGES; page++)
        guard_set(g, page, true, 0);
    assert_false(guard_ok(g, 0));
    const bool was_good = g->error == BLOOMFILE_ECHANGED;
    assert_int_equal(guard_ok(g, PAGE), !was_good);
    assert_int_equal(g->doubts, was_good ? 2 : 1);
    assert_int_equal(g->bad, 1);
    g->known_good = good;
    g->known_bad = bad;
    assert_int_equal(munmap(maps, (size_t)2 * MAP), 0);
}

TEST(a_page_that_is_found_good_and_bad_is_bad)
{
    for (unsigned moment = 1; moment <= 2; moment++) {
        struct guard g = new_guard(false);
        find_good_and_bad(&g, moment);
        assert_int_equal(meanwhile.touches, moment);
        guard_release(&g);
    }
}

TEST(bad_page_is_never_good_even_briefly)
{
    struct guard g = new_guard(false);
    guard_set(&g, 0, false, 0);
    find_good_and_bad(&g, 1);
    assert_int_equal(meanwhile.touches, 0);
    guard_release(&g);
}

/* ---- another thread renews while a page is hashed and marked */

static void renew(void)
{
    damage(0);
    guard_renew(meanwhile.guard, 1);
}

static void on_touch_renew(int number)
{
    const bool due = ++meanwhile.touches == meanwhile.moment;
    uint8_t *const held = meanwhile.touches % 2 ? meanwhile.maps + MAP : meanwhile.maps;
    if (meanwhile.touches > 20)
        signal(number, SIG_DFL);
    mprotect(meanwhile.maps, (size_t)2 * MAP, PROT_READ | PROT_WRITE);
    if (due)
        renew();
    else
        mprotect(held, MAP, PROT_NONE);
}

/* Returns whether the touch number `moment` happened. */
static bool check_while_renewed(struct guard *g, unsigned moment)
{
    struct sigaction action = { .sa_handler = on_touch_renew }, before;
    uint8_t *maps =
        mmap(NULL, (size_t)2 * MAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(maps != MAP_FAILED);
    _Atomic uint64_t *const good = g->known_good, *const bad = g->known_bad;
    g->known_good = (void *)maps;
    g->known_bad = (void *)(maps + MAP);
    meanwhile.guard = g;
    meanwhile.maps = maps;
    meanwhile.moment = moment;
    meanwhile.touches = 0;
    const uint64_t renewals = guard_renewals(g);
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    hold(0);
    guard_set(g, 0, true, renewals); /* hashed before the renewal, as in guard_check() */
    assert_int_equal(mprotect(maps, (size_t)2 * MAP, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    const bool came = meanwhile.touches >= moment;
    if (came) {
        guard_recheck(g);
        assert_error(g->error, BLOOMFILE_ECHANGED);
        damage(0);
    }
    g->known_good = good;
    g->known_bad = bad;
    assert_int_equal(munmap(maps, (size_t)2 * MAP), 0);
    return came;
}

TEST(a_page_hashed_before_a_renewal_is_checked_again)
{
    unsigned moment = 1;
    for (bool came = true; came; moment++) {
        struct guard g = new_guard(false);
        came = check_while_renewed(&g, moment);
        guard_release(&g);
    }
    assert_true(moment > 3);
}

/* A lookup may have relied on a mark that another thread is about to remove. */
TEST(recheck_covers_marks_that_are_about_to_be_removed)
{
    struct guard g = new_guard(false);
    guard_renew(&g, 1);
    guard_set(&g, 0, true, guard_renewals(&g));
    damage(0);
    guard_recheck(&g);
    assert_error(g.error, 0);
    atomic_fetch_add(&g.marking, 1);
    guard_recheck(&g);
    assert_error(g.error, BLOOMFILE_ECHANGED);
    damage(0);
    guard_release(&g);
}

/* Four pages are marked together; before that, two of them are known: a good page and a bad
 * page. */
TEST(pages_marked_together_count_as_if_marked_one_by_one)
{
    for (unsigned renewed = 0; renewed < 2; renewed++) {
        struct guard g = new_guard(false);
        guard_set(&g, 65, true, 0);
        guard_set(&g, 66, false, 0);
        guard_set_good(&g, 1, 0xF, renewed); /* outdated: the marks are removed */
        assert_int_equal(g.doubts, renewed ? PAGES + 1 : PAGES - 3);
        for (size_t page = 64; page < 68; page++)
            assert_int_equal(guard_unknown(&g, page * PAGE), page != 66 && renewed);
        assert_int_equal(guard_unknown(&g, 0) && guard_unknown(&g, 68 * PAGE), true);
        assert_error(g.error, renewed ? BLOOMFILE_ECHANGED : BLOOMFILE_EPAGE);
        guard_release(&g);
    }
}

int main(void)
{
    return run_all(make_body, NULL);
}
