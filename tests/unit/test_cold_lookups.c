/* SPDX-License-Identifier: MIT
 * Lookups in a file on disk read the pages they need and no other pages. */
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../../bench/harness/residence.h"
#include "os/file.h"

enum {
    PAGE = 4096,
    PAGES = 6000,
    LOOKUPS = 200,
    FIRST = 100, /* first page to look up, beyond the read-ahead of the header */
    STEP = 29,
    TABLE_PAGES = (PAGES * 4 - 1) / PAGE + 1,
    FEW = 10,
    NOBODY = 65534,
    FUSE = 0x65735546,
    NFS = 0x6969,
    HEADER_AT_MOST = 32, /* pages that the kernel reads for a request of the first page */
};

static unsigned requests;
static uint32_t layout;

int __real_madvise(void *start, size_t size, int advice);
int __wrap_madvise(void *start, size_t size, int advice);

int __wrap_madvise(void *start, size_t size, int advice)
{
    requests += advice == MADV_WILLNEED;
    return __real_madvise(start, size, advice);
}

/* Digests spread evenly over the blocks: a digest of this page. */
static uint64_t digest_in_page(uint64_t page)
{
    const uint64_t share = UINT64_MAX / PAGES;
    return share * page + share / 2;
}

static size_t pages_in_cache(void)
{
    int error;
    const size_t pages = residence_pages("filter", &error);
    assert_int_equal(error, 0);
    return pages;
}

/* The kernel keeps a page that it is moving at that moment, so try again. */
static int drop(void)
{
    int error = residence_drop("filter");
    for (int tries = 0; tries < 100 && error == 0 && pages_in_cache() > 0; tries++) {
        usleep(10000);
        error = residence_drop("filter");
    }
    return error;
}

/* Without keys: every answer is "no" and needs the page itself. */
static int make_cold_filter(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    bloomfile_builder *b = new_builder(
        (struct bloomfile_params){ .layout = layout, .bits = 8 * PAGE * (uint64_t)PAGES });
    assert_error(bloomfile_builder_write(b, TO_PATH("filter", 0)), 0);
    bloomfile_builder_free(b);
    return drop();
}

static size_t look_up(const bloomfile_filter *f, bool many)
{
    uint64_t digests[LOOKUPS];
    size_t found = 0;
    for (uint64_t i = 0; i < LOOKUPS; i++)
        digests[i] = digest_in_page(FIRST + i * 7919 % LOOKUPS * STEP);
    if (many)
        return bloomfile_contains_digests(f, digests, LOOKUPS, NULL);
    for (uint64_t i = 0; i < LOOKUPS; i++)
        found += bloomfile_contains_digest(f, digests[i]);
    return found;
}

/* The program's own pages may have left memory, and reading them would count. */
static void have_code_in_memory(unsigned flags, bool many)
{
    struct bytes image = image_from((struct recipe){ layout, EMBEDDED, 512 * 100, 6, 60, 0 });
    bloomfile_filter *f;
    assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), flags), 0);
    look_up(f, many);
    bloomfile_close(f);
    free(image.data);
}

static bool is_on(unsigned long file_system)
{
    struct statfs status;
    assert_int_equal(statfs("filter", &status), 0);
    return (unsigned long)status.f_type == file_system;
}

static void assert_pages_read(unsigned flags, bool many, size_t at_most)
{
    have_code_in_memory(flags, many);
    assert_int_equal(pages_in_cache(), 0);
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", flags), 0);
    const size_t opened = pages_in_cache();
    assert_in_range(opened, 1, HEADER_AT_MOST);
    const uint64_t before = residence_read_bytes();
    assert_int_equal(look_up(f, many), 0);
    const uint64_t read = residence_read_bytes() - before;
    assert_int_equal(bloomfile_check(f), 0);
    bloomfile_close(f);
    assert_in_range(pages_in_cache() - opened, 1, at_most);
    assert_in_range(read, 0, at_most * PAGE);
}

TEST_WITH(unverified_single_lookups_read_only_their_pages, make_cold_filter, leave_temp_dir)
{
    assert_pages_read(BLOOMFILE_OPEN_VERIFY_NONE, false, LOOKUPS);
}

TEST_WITH(unverified_batches_read_only_their_pages, make_cold_filter, leave_temp_dir)
{
    assert_pages_read(BLOOMFILE_OPEN_VERIFY_NONE, true, LOOKUPS);
}

TEST_WITH(single_lookups_read_pages_and_checksums, make_cold_filter, leave_temp_dir)
{
    assert_pages_read(0, false, LOOKUPS + TABLE_PAGES);
}

TEST_WITH(batches_read_pages_and_checksums, make_cold_filter, leave_temp_dir)
{
    assert_pages_read(0, true, LOOKUPS + TABLE_PAGES);
}

static long waits_of_many(void)
{
    bloomfile_filter *f;
    struct rusage before, after;
    const uid_t self = geteuid();
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    if (self == 0)
        assert_int_equal(seteuid(NOBODY), 0);
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    assert_int_equal(look_up(f, true), 0);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_int_equal(seteuid(self), 0);
    bloomfile_close(f);
    return after.ru_majflt - before.ru_majflt;
}

/* Pages are read in parallel: requested before they are needed, even for a user without write
 * permission. */
TEST_WITH(batches_read_pages_in_parallel, make_cold_filter, leave_temp_dir)
{
    assert_in_range(waits_of_many(), 0, LOOKUPS / 4);
}

static unsigned requests_of_many(void)
{
    bloomfile_filter *f;
    uint64_t digests[LOOKUPS];
    for (uint64_t i = 0; i < LOOKUPS; i++)
        digests[i] = digest_in_page(FIRST + i % FEW * STEP);
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    requests = 0;
    assert_int_equal(bloomfile_contains_digests(f, digests, LOOKUPS, NULL), 0);
    bloomfile_close(f);
    return requests;
}

/* Requests cover pages and their checksums, except for the first wait, which reveals that the
 * file is cold. The kernel may keep or reclaim some pages, so the bounds are loose. */
TEST_WITH(each_cold_page_is_requested_once, make_cold_filter, leave_temp_dir)
{
    assert_in_range(requests_of_many(), FEW, 2 * (FEW - 1));
    assert_in_range(requests_of_many(), 0, FEW / 3);
}

/* The caller's memory may be a mapping of anything, so the library requests no pages of it. */
TEST_WITH(image_mapped_by_the_caller_gets_no_requests, make_cold_filter, leave_temp_dir)
{
    int fd = open("filter", O_RDONLY | O_CLOEXEC);
    const size_t size = (size_t)lseek(fd, 0, SEEK_END);
    void *image = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(image, MAP_FAILED);
    bloomfile_filter *f;
    assert_error(open_from(&f, bloomfile_from_memory(image, size), 0), 0);
    requests = 0;
    assert_int_equal(look_up(f, true), 0);
    assert_int_equal(requests, 0);
    assert_int_equal(bloomfile_check(f), 0);
    bloomfile_close(f);
    munmap(image, size);
    close(fd);
}

TEST_WITH(prefault_and_copy_read_the_whole_file, make_cold_filter, leave_temp_dir)
{
    static const unsigned flags[] = { BLOOMFILE_OPEN_PREFAULT, BLOOMFILE_OPEN_COPY };
    for (size_t i = 0; i < ROWS(flags); i++) {
        bloomfile_filter *f;
        assert_int_equal(drop(), 0);
        assert_int_equal(pages_in_cache(), 0);
        assert_error(bloomfile_open(&f, "filter", flags[i]), 0);
        /* The kernel may be moving or reclaiming a few pages. */
        assert_in_range(pages_in_cache(), PAGES / 2, 1 + PAGES + TABLE_PAGES);
        bloomfile_close(f);
    }
}

static unsigned hits_without_waiting(const bloomfile_filter *f)
{
    unsigned hits = 0;
    for (uint64_t i = 0; i < LOOKUPS; i++)
        hits += bloomfile_contains_digest_nowait(f, digest_in_page(FIRST + i * STEP));
    return hits;
}

/* A lookup may start a read, and a fast disk may finish it immediately. */
TEST_WITH(lookups_of_cold_pages_do_not_wait_for_a_disk, make_cold_filter, leave_temp_dir)
{
    bloomfile_filter *f;
    struct rusage before, after;
    have_code_in_memory(0, false);
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_NOWAIT), 0);
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    hits_without_waiting(f);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_in_range(after.ru_majflt - before.ru_majflt, 0, LOOKUPS / 10);
    int fd = open("filter", O_RDONLY | O_CLOEXEC);
    const bool tells = file_is_cached(fd, 0, 512);
    close(fd);
    assert_int_equal(look_up(f, true), 0);
    if (tells)
        assert_in_range(hits_without_waiting(f), 0, LOOKUPS / 10);
    bloomfile_close(f);
}

/* Returns the reason why this system cannot run the tests, or NULL. */
static const char *obstacle(void)
{
    int error;
    if (sysconf(_SC_PAGESIZE) != PAGE)
        return "pages of memory are not those of the format";
    if (make_cold_filter(NULL) != 0)
        return "a file cannot be made, or not be taken out of the page cache";
    const size_t pages = residence_pages("filter", &error);
    const bool forgets = is_on(NFS) || is_on(FUSE);
    leave_temp_dir(NULL);
    if (forgets)
        return "this file system may drop cached pages when a file is opened again";
    return error != 0 || pages != 0
               ? "files stay in the page cache here; let TMPDIR name a folder on a disk"
               : NULL;
}

int main(void)
{
    const char *why = obstacle();
    if (why != NULL)
        return skipped(why);
    layout = BLOOMFILE_LAYOUT_BLOCKED;
    int failed = run_all(NULL, NULL);
    layout = BLOOMFILE_LAYOUT_RIBBON;
    failed += run_all(NULL, NULL);
    return failed != 0;
}
