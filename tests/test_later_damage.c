/* SPDX-License-Identifier: MIT
 * Damage that comes while a handle is open: after a page was checked, or after the filter was
 * sealed, when its pages got checksums. */
#include "live_support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <fcntl.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    PAGES = 16,
    KEYS = 5000,
    BAD_PAGE = 5
};

static const struct recipe recipes[] = {
    { BLOOMFILE_BLOCKED, IN_FILE, 512 * 64 * PAGES, 6, KEYS, 0 },
    { BLOOMFILE_CLASSIC, IN_FILE, 8 * (PAGE * PAGES), 5, KEYS, 0 },
    { BLOOMFILE_COUNTING, IN_FILE, 2 * (PAGE * PAGES), 5, KEYS, 0 },
};

/* As a disk does that gives back another page than was written to it. */
static void zero_page(const char *path, uint64_t page)
{
    static const uint8_t zeros[PAGE];
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, (off_t)(IN_FILE + page * PAGE)), PAGE);
    assert_int_equal(close(fd), 0);
}

static void assert_all_may_be_there(const bloomfile *f)
{
    static uint64_t digests[KEYS];
    for (uint64_t i = 0; i < KEYS; i++) {
        digests[i] = number(0, i);
        assert_true(bloomfile_contains_digest(f, digests[i]));
    }
    assert_int_equal(bloomfile_contains_digests(f, digests, KEYS, NULL), KEYS);
}

/* ---- sealing */

static bloomfile *open_live(uint32_t layout, uint64_t m)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.bits = m;
    params.hashes = 5;
    params.capacity = KEYS;
    bloomfile *f;
    assert_error(bloomfile_create(&f, "filter", &params, BLOOMFILE_REPLACE), 0);
    add_digests_of(f, 0, KEYS);
    return f;
}

static void the_handle_that_seals_verifies_pages_from_then_on(void **state)
{
    (void)state;
    for (size_t r = 0; r < ROWS(recipes); r++) {
        bloomfile *f = open_live(recipes[r].layout, recipes[r].m);
        assert_all_may_be_there(f);
        assert_error(bloomfile_seal(f), 0);
        zero_page("filter", BAD_PAGE);
        assert_all_may_be_there(f);
        assert_error(bloomfile_status(f), BLOOMFILE_EPAGE);
        assert_int_equal(info_of(f).bad_pages, 1);
        bloomfile_close(f);
    }
}

static void a_page_that_was_read_while_live_is_verified_once_it_is_sealed(void **state)
{
    (void)state;
    for (size_t r = 0; r < ROWS(recipes); r++) {
        bloomfile *f = open_live(recipes[r].layout, recipes[r].m);
        assert_error(bloomfile_seal(f), 0);
        assert_all_may_be_there(f);
        assert_error(bloomfile_status(f), 0);
        assert_error(bloomfile_verify(f, 1, NULL), 0);
        zero_page("filter", BAD_PAGE);
        struct bloomfile_fault fault;
        assert_error(bloomfile_verify(f, 1, &fault), BLOOMFILE_EPAGE);
        assert_int_equal(fault.page, BAD_PAGE);
        assert_all_may_be_there(f);
        bloomfile_close(f);
    }
}

int main(void)
{
#define IN_NEW_DIR(test) cmocka_unit_test_setup_teardown(test, enter_temp_dir, leave_temp_dir)
    const struct CMUnitTest tests[] = {
        IN_NEW_DIR(the_handle_that_seals_verifies_pages_from_then_on),
        IN_NEW_DIR(a_page_that_was_read_while_live_is_verified_once_it_is_sealed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
