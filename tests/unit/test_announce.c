/* SPDX-License-Identifier: MIT
 * The pages that batch lookups request after the first wait for a page. The test cold-lookups
 * uses a real disk; here the test replaces getrusage() and only claims a wait. */
#include "support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "live/handle.h"

enum {
    PAGE = 4096,
    PAGES = 1500, /* over a round of lookups: two pages share a table entry */
    BLOCKS = PAGES * (PAGE / 64),
};

static enum {
    WARM,
    COLD,  /* each page that is checked had to be read from disk */
    OTHERS /* every call reports another wait: of another thread, for example */
} disk;

static bloomfile_filter *filter;

static uint64_t pages_known(void)
{
    uint64_t known = 0;
    for (size_t word = 0; word <= PAGES / 64; word++)
        known += (uint64_t)__builtin_popcountll(filter->guard->known_good[word]);
    return known;
}

int __real_getrusage(int who, struct rusage *usage);
int __wrap_getrusage(int who, struct rusage *usage);

int __wrap_getrusage(int who, struct rusage *usage)
{
    static long others;
    const int result = __real_getrusage(who, usage);
    usage->ru_majflt =
        5 + (disk == COLD ? (long)pages_known() : 0) + (disk == OTHERS ? ++others : 0);
    return result;
}

/* ---- requests */

static struct request {
    uintptr_t start, end;
} requests[100];
static size_t count;

int __real_madvise(void *start, size_t size, int advice);
int __wrap_madvise(void *start, size_t size, int advice);

int __wrap_madvise(void *start, size_t size, int advice)
{
    if (advice == MADV_WILLNEED && count < ROWS(requests))
        requests[count++] = (struct request){ (uintptr_t)start, (uintptr_t)start + size };
    return __real_madvise(start, size, advice);
}

/* The digest whose block is the page's first. */
static uint64_t digest_in_page(uint64_t page)
{
    const uint64_t block = page * (PAGE / 64);
    return UINT64_MAX / BLOCKS * block + UINT64_MAX / BLOCKS / 2;
}

static size_t look_up(const uint64_t *pages, size_t n)
{
    uint64_t digests[ROWS(requests)];
    for (size_t i = 0; i < n; i++)
        digests[i] = digest_in_page(pages[i]);
    count = 0;
    return bloomfile_contains_digests(filter, digests, n, NULL);
}

static void assert_requested(const uint64_t *pages, size_t n)
{
    const uintptr_t body = (uintptr_t)filter->view.body;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(count, 2 * n);
    for (size_t i = 0; i < n; i++) {
        const uintptr_t start = body + (uintptr_t)pages[i] * PAGE;
        const uintptr_t entry = (uintptr_t)filter->guard->checksums + 4 * (uintptr_t)pages[i];
        assert_int_equal(requests[2 * i].start, start - start % page);
        assert_int_equal(requests[2 * i].end, start + PAGE);
        assert_in_range(requests[2 * i + 1].start, entry - entry % page, entry);
        assert_int_equal(requests[2 * i + 1].end, entry + 4);
    }
}

static int make_filter(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    struct bytes image = image_from(
        (struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 512 * (uint64_t)BLOCKS, 6, 0, 0 });
    write_file("filter", image.data, image.size);
    free(image.data);
    disk = WARM;
    return bloomfile_open(&filter, "filter", 0);
}

static int remove_filter(void **state)
{
    disk = WARM;
    bloomfile_close(filter);
    return leave_temp_dir(state);
}

static void damage_page(uint64_t page)
{
    int fd = open("filter", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "x", 1, (off_t)(IN_FILE + page * PAGE)), 1);
    assert_int_equal(close(fd), 0);
}

/* ---- tests */

#define ON_NEW_FILTER(test) TEST_WITH(test, make_filter, remove_filter)

ON_NEW_FILTER(batch_requests_each_unverified_page_but_the_first_once)
{
    static const uint64_t known[] = { 7, 70, 1033 };
    static const uint64_t wanted[] = { 7,    70, 1033, 9, 0, 1030, 9,    33,   0,
                                       1030, 70, 1033, 6, 7, 6,    1057, 1499, 1027 };
    static const uint64_t requested[] = { 0, 1030, 33, 6, 1057, 1499, 1027 };
    assert_int_equal(look_up(known, ROWS(known)), 0);
    assert_int_equal(count, 0);
    disk = COLD;
    assert_int_equal(look_up(wanted, ROWS(wanted)), 0);
    assert_requested(requested, ROWS(requested));
    assert_int_equal(look_up(wanted, ROWS(wanted)), 0);
    assert_int_equal(count, 0);
}

ON_NEW_FILTER(first_unverified_page_of_a_batch_is_read_without_a_request)
{
    static const uint64_t two[] = { 3, 64 }, one[] = { 128 }, last[] = { 3, 64, 129 };
    disk = COLD;
    assert_int_equal(look_up(two, 2), 0);
    assert_requested(&two[1], 1);
    assert_int_equal(look_up(one, 1), 0);
    assert_int_equal(count, 0);
    assert_int_equal(look_up(last, 3), 0);
    assert_int_equal(count, 0);
}

ON_NEW_FILTER(bad_page_is_not_requested_again)
{
    static const uint64_t bad[] = { 64 }, wanted[] = { 64, 66, 64, 67 };
    damage_page(64);
    assert_int_equal(look_up(bad, 1), 1);
    assert_int_equal(info_of(filter).bad_pages, 1);
    disk = COLD;
    assert_int_equal(look_up(wanted, ROWS(wanted)), 2);
    assert_requested(&wanted[3], 1);
}

ON_NEW_FILTER(resident_pages_are_not_requested)
{
    static const uint64_t wanted[] = { 1, 2, 3, 4 };
    assert_int_equal(look_up(wanted, ROWS(wanted)), 0);
    assert_int_equal(count, 0);
}

ON_NEW_FILTER(verify_none_requests_no_pages)
{
    static const uint64_t wanted[] = { 1, 2, 3, 4 };
    bloomfile_close(filter);
    damage_page(2);
    assert_error(bloomfile_open(&filter, "filter", BLOOMFILE_OPEN_VERIFY_NONE), 0);
    assert_error(bloomfile_verify(filter, 1, NULL), BLOOMFILE_EPAGE);
    disk = OTHERS;
    assert_int_equal(look_up(wanted, ROWS(wanted)), 1);
    assert_int_equal(count, 0);
}

int main(void)
{
    return run_all(NULL, NULL);
}
