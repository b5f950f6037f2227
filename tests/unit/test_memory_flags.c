/* SPDX-License-Identifier: MIT
 * The memory of a filter's bytes: BLOOMFILE_OPEN_PREFAULT, _LOCK and _COPY. */
#include "live_support.h"

#include <bloomfile_inspect.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/header.h"
#include "live/handle.h"

enum {
    PREFAULT = BLOOMFILE_OPEN_PREFAULT,
    LOCK = BLOOMFILE_OPEN_LOCK,
    COPY = BLOOMFILE_OPEN_COPY,
    KEYS = 1500,
    QUERIES = 4000,
    PAGE = 4096,
    HUGE_PAGE = 2 << 20,
    BAD_PAGE = 3
};

static const unsigned all_flags[] = { PREFAULT,        LOCK,        COPY,
                                      PREFAULT | LOCK, LOCK | COPY, PREFAULT | LOCK | COPY };

/* Each has several pages. */
static const struct recipe recipes[] = {
    { BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 512 * 333, 4, KEYS, 0 },
    { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 8 * 20001 - 3, 4, KEYS, 7 },
    { BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 2 * 20001 - 1, 4, KEYS, 0 },
    { BLOOMFILE_LAYOUT_RIBBON, EMBEDDED, 512 * 333, 0, KEYS, 0 },
};

static void write_filter(const struct recipe *recipe)
{
    struct bytes image = image_from(*recipe);
    write_file("filter", image.data, image.size);
    free(image.data);
}

/* ---- results */

static void assert_same_answers(const bloomfile_filter *f, const bloomfile_filter *plain)
{
    static uint64_t digests[QUERIES];
    static bool hits[QUERIES], expected[QUERIES];
    for (uint64_t i = 0; i < QUERIES; i++) {
        digests[i] = number(bloomfile_seed(f), i);
        expected[i] = bloomfile_contains_digest(plain, digests[i]);
        assert_int_equal(bloomfile_contains_digest(f, digests[i]), expected[i]);
    }
    bloomfile_contains_digests(f, digests, QUERIES, hits);
    assert_memory_equal(hits, expected, sizeof hits);
    assert_int_equal(bloomfile_check(f), bloomfile_check(plain));
    assert_int_equal(bloomfile_verify(f, 1, NULL), bloomfile_verify(plain, 1, NULL));
    assert_int_equal(info_of(f).bad_pages, info_of(plain).bad_pages);
}

/* By path, and as a part of another file at any offset. */
static void assert_flags_change_no_answer(struct bytes image, size_t offset)
{
    struct bytes file = { malloc(offset + image.size + 1), offset + image.size + 1 };
    memset(file.data, 0xEE, file.size);
    memcpy(file.data + offset, image.data, image.size);
    write_file("filter", image.data, image.size);
    write_file("part", file.data, file.size);
    int fd = open("part", O_RDONLY);
    for (size_t i = 0; i < ROWS(all_flags); i++) {
        bloomfile_filter *f, *plain = open_image(image, 0);
        assert_error(bloomfile_open(&f, "filter", all_flags[i]), 0);
        assert_same_answers(f, plain);
        bloomfile_close(f);
        bloomfile_close(plain);

        plain = open_image(image, 0);
        assert_error(open_from(&f, part_of_fd(fd, offset, image.size), all_flags[i]), 0);
        assert_same_answers(f, plain);
        bloomfile_close(f);
        bloomfile_close(plain);
    }
    close(fd);
    free(file.data);
}

TEST_IN_DIR(memory_flags_do_not_change_answers)
{
    static const size_t offsets[] = { 4095, 0, 12345, 1 };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(recipes[r]);
        assert_flags_change_no_answer(image, offsets[r]);
        image.data[recipes[r].header_size + PAGE * BAD_PAGE] ^= 1;
        assert_flags_change_no_answer(image, offsets[r]);
        free(image.data);
    }
}

TEST_IN_DIR(verify_full_checks_the_copy)
{
    struct bytes image = image_from(recipes[0]);
    write_file("filter", image.data, image.size);
    bloomfile_close(opened("filter", COPY | BLOOMFILE_OPEN_VERIFY_FULL));
    image.data[IN_FILE + PAGE * BAD_PAGE] ^= 1;
    write_file("filter", image.data, image.size);
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", COPY | BLOOMFILE_OPEN_VERIFY_FULL), BLOOMFILE_EPAGE);
    free(image.data);
}

TEST_IN_DIR(copy_of_an_image_outlives_the_image)
{
    static const unsigned copying[] = { COPY, COPY | PREFAULT, COPY | LOCK };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        for (size_t i = 0; i < ROWS(copying); i++) {
            struct bytes image = image_from(recipes[r]), again = image_from(recipes[r]);
            bloomfile_filter *plain = open_image(again, 0);
            bloomfile_filter *f = open_image(image, copying[i]);
            memset(image.data, 0, image.size);
            assert_same_answers(f, plain);
            assert_int_equal((uintptr_t)f->view.body % 64, 0);
            bloomfile_close(f);
            bloomfile_close(plain);
            free(image.data);
            free(again.data);
        }
    }
}

TEST_IN_DIR(memory_of_the_caller_is_never_locked_or_prefaulted)
{
    struct bytes image = image_from(recipes[0]);
    bloomfile_filter *f;
    for (unsigned i = 0; i < 3; i++) {
        static const unsigned flags[] = { PREFAULT, LOCK, PREFAULT | LOCK };
        assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), flags[i]),
                     BLOOMFILE_EFLAGS);
        assert_null(f);
    }
    free(image.data);
}

TEST_IN_DIR(live_filter_may_be_prefaulted_or_locked_but_not_copied)
{
    bloomfile_filter *f;
    make_live("live", BLOOMFILE_LAYOUT_BLOCKED);
    assert_error(bloomfile_open(&f, "live", COPY), BLOOMFILE_ELIVE);
    assert_error(bloomfile_open(&f, "live", COPY | BLOOMFILE_OPEN_WRITE), BLOOMFILE_EFLAGS);
    bloomfile_filter *reader = opened("live", PREFAULT | LOCK);
    bloomfile_filter *writer = opened("live", PREFAULT | LOCK | BLOOMFILE_OPEN_WRITE);
    add_digests_of(writer, LIVE_KEYS, 2 * LIVE_KEYS);
    assert_true(has_numbers(reader, 0, 2 * LIVE_KEYS));
    bloomfile_close(reader);
    bloomfile_close(writer);
    assert_flawless(flaw_of_clean_file("live"));
}

/* ---- the file changes */

static bool all_may_be_there(const bloomfile_filter *f)
{
    for (uint64_t i = 0; i < KEYS; i++)
        if (!bloomfile_contains_digest(f, number(0, i)))
            return false;
    return true;
}

/* Truncates the file, then reads through the handle in a child. Returns the signal that ends the
 * child, or 0. */
static int signal_after_truncation(unsigned flags)
{
    write_filter(&recipes[0]);
    bloomfile_filter *f = opened("filter", flags);
    assert_int_equal(truncate("filter", 0), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGBUS, SIG_DFL);
        _exit(all_may_be_there(f) && bloomfile_check(f) == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    bloomfile_close(f);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_IN_DIR(a_copy_outlives_the_bytes_of_its_file)
{
    assert_int_equal(signal_after_truncation(0), SIGBUS);
    assert_int_equal(signal_after_truncation(PREFAULT | LOCK), SIGBUS);
    assert_int_equal(signal_after_truncation(COPY), 0);
}

TEST_IN_DIR(a_copy_is_stale_when_its_path_names_another_file)
{
    write_filter(&recipes[0]);
    bloomfile_filter *f = opened("filter", COPY);
    assert_int_equal(bloomfile_is_stale(f), 0);
    assert_int_equal(rename("filter", "older"), 0);
    write_filter(&recipes[1]);
    assert_int_equal(bloomfile_is_stale(f), 1);
    bloomfile_close(f);
}

/* Two writes within a tick of the clock give the file equal times. */
TEST_IN_DIR(a_copy_is_stale_when_only_the_header_of_its_file_differs)
{
    struct bytes image = image_from(recipes[0]);
    struct stat status;
    write_file("filter", image.data, image.size);
    bloomfile_filter *f = opened("filter", COPY);
    image.data[AT_label] ^= 1;
    write_file("filter", image.data, image.size);
    assert_int_equal(stat("filter", &status), 0);
    f->file.modified = status.st_mtim;
    f->file.touched = status.st_ctim;
    assert_int_equal(bloomfile_is_stale(f), 1);
    image.data[AT_label] ^= 1;
    write_file("filter", image.data, image.size);
    assert_int_equal(stat("filter", &status), 0);
    f->file.modified = status.st_mtim;
    f->file.touched = status.st_ctim;
    assert_int_equal(bloomfile_is_stale(f), 0);
    bloomfile_close(f);
    free(image.data);
}

/* ---- the cost of a handle */

TEST_IN_DIR(more_handles_can_be_open_than_descriptors)
{
    enum {
        DESCRIPTORS = 64,
        HANDLES = 2 * DESCRIPTORS
    };
    struct bytes images[] = { image_from(recipes[0]),
                              series_image(BLOOMFILE_LAYOUT_BLOCKED, 10000) };
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){ DESCRIPTORS, before.rlim_max };
    for (size_t i = 0; i < ROWS(images); i++) {
        static const unsigned flags[] = { COPY, 0 };
        write_file("filter", images[i].data, images[i].size);
        for (size_t j = 0; j < ROWS(flags); j++) {
            bloomfile_filter *all[HANDLES];
            const size_t descriptors = open_descriptors();
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
            int error = 0;
            for (size_t at = 0; at < HANDLES && error == 0; at++)
                error = bloomfile_open(&all[at], "filter", flags[j]);
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
            assert_error(error, 0);
            assert_int_equal(open_descriptors(), descriptors);
            for (size_t at = 0; at < HANDLES; at++) {
                assert_int_equal(bloomfile_is_stale(all[at]), 0);
                assert_int_equal(open_descriptors(), descriptors);
                bloomfile_close(all[at]);
            }
        }
        free(images[i].data);
    }
}

/* Asserts that only the copy is mapped, plus its alignment to a huge page, and that huge pages
 * are requested for its own bytes only. */
static void assert_no_huge_page_around(const bloomfile_filter *f, size_t size)
{
    const uintptr_t first = (uintptr_t)f->map.bytes, end = first + size;
    const uintptr_t base = (uintptr_t)f->map.base, base_end = base + f->map.base_size;
    uintptr_t from = 0, to = 0;
    char line[4096];
    assert_in_range(f->map.base_size, size, size + (size < HUGE_PAGE ? PAGE - 1 : HUGE_PAGE));
    FILE *maps = fopen("/proc/self/smaps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t one, two;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &one, &two) == 2) {
            from = one;
            to = two;
        }
        if (strncmp(line, "VmFlags:", 8) != 0 || to <= base || from >= base_end)
            continue;
        if (strstr(line, " hg") != NULL) /* a neighbour may share the mapping */
            assert_true(size >= HUGE_PAGE && (from > base ? from : base) >= first &&
                        (to < base_end ? to : base_end) <= end);
    }
    fclose(maps);
}

TEST_IN_DIR(copy_uses_only_huge_pages_that_it_fills)
{
    static const uint64_t sizes[] = { 13000,
                                      373000,
                                      1250000,
                                      HUGE_PAGE - 8192,
                                      HUGE_PAGE / 2,
                                      2 * HUGE_PAGE,
                                      5 * HUGE_PAGE + 100000 };
    for (size_t i = 0; i < ROWS(sizes); i++) {
        const struct recipe recipe = {
            BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, sizes[i] / 64 * 512, 4, 100, 0
        };
        struct bytes image = image_from(recipe);
        write_file("filter", image.data, image.size);
        bloomfile_filter *by_path = opened("filter", COPY), *of_memory = open_image(image, COPY);
        assert_no_huge_page_around(by_path, image.size);
        assert_no_huge_page_around(of_memory, image.size);
        bloomfile_close(by_path);
        bloomfile_close(of_memory);
        free(image.data);
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
