/* SPDX-License-Identifier: MIT
 * Files that may be opened, files that are refused, and the contents of a handle. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct recipe in_file = { BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 512 * 100, 6, 500, 0 };
static const struct recipe embedded = { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 30011, 5, 500, 3 };

static void assert_answers(const bloomfile_filter *f, const struct recipe *recipe,
                           struct bytes image)
{
    for (uint64_t i = 0; i < 2 * recipe->keys; i++) {
        uint64_t digest = number(recipe->seed, i);
        bool expected = reference_contains(recipe->layout, image.data + recipe->header_size,
                                           recipe->m, recipe->k, digest);
        assert_true(expected || i >= recipe->keys);
        assert_int_equal(bloomfile_contains_digest(f, digest), expected);
    }
    assert_int_equal(bloomfile_check(f), 0);
}

static const unsigned all_flags[] = { 0, BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE };

/* ---- from a path */

TEST_IN_DIR(a_file_is_opened_by_its_path)
{
    static const struct recipe *const recipes[] = { &in_file, &embedded };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(*recipes[r]);
        write_file("filter", image.data, image.size);
        for (size_t i = 0; i < ROWS(all_flags); i++) {
            bloomfile_filter *f;
            assert_error(bloomfile_open(&f, "filter", all_flags[i]), 0);
            assert_answers(f, recipes[r], image);
            bloomfile_close(f);
        }
        free(image.data);
    }
}

TEST_IN_DIR(open_filter_needs_neither_its_name_nor_a_descriptor)
{
    struct bytes image = image_from(in_file);
    write_file("filter", image.data, image.size);
    int free_before = dup(0);
    close(free_before);
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    int free_after = dup(0);
    close(free_after);
    assert_int_equal(free_before, free_after);
    assert_int_equal(unlink("filter"), 0);
    assert_answers(f, &in_file, image);
    bloomfile_close(f);
    free(image.data);
}

static unsigned mappings_of(const char *name)
{
    char line[5000];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (maps == NULL)
        skip("there is no /proc");
    while (fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, name) != NULL;
    fclose(maps);
    return count;
}

TEST_IN_DIR(a_filter_is_mapped_until_it_is_closed)
{
    struct bytes image = image_from(in_file);
    write_file("mapped filter", image.data, image.size);
    free(image.data);
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "mapped filter", 0), 0);
    assert_int_equal(mappings_of("/mapped filter"), 1);
    bloomfile_close(f);
    assert_int_equal(mappings_of("/mapped filter"), 0);
}

static void assert_not_opened(const char *path, unsigned flags, int error)
{
    bloomfile_filter *f = (void *)&f;
    assert_error(bloomfile_open(&f, path, flags), error);
    assert_null(f);
}

TEST_IN_DIR(files_that_are_not_regular_are_refused_without_waiting)
{
    make_pipe("fifo", 0666);
    assert_int_equal(mkdir("dir", 0777), 0);
    alarm(20);
    assert_not_opened("fifo", 0, BLOOMFILE_ENOTREGULAR);
    alarm(0);
    assert_not_opened("dir", 0, EISDIR);
    assert_not_opened("/dev/null", 0, BLOOMFILE_ENOTREGULAR);
}

TEST_IN_DIR(path_without_a_file_is_refused)
{
    assert_not_opened("missing", 0, ENOENT);
    assert_not_opened("", 0, ENOENT);
    write_file("file", "", 0);
    assert_not_opened("file/filter", 0, ENOTDIR);
    assert_not_opened("file", 0, BLOOMFILE_EEMPTY);
}

TEST_IN_DIR(unknown_and_contradictory_flags_are_refused)
{
    static const unsigned flags[] = { BLOOMFILE_OPEN_SOLE_ADDER,
                                      1u << 11,
                                      1u << 31,
                                      BLOOMFILE_TO_REPLACE,
                                      BLOOMFILE_OPEN_ADD_EXACT,
                                      BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_VERIFY_FULL,
                                      BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_VERIFY_NONE,
                                      BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_COPY,
                                      BLOOMFILE_OPEN_VERIFY_FULL | BLOOMFILE_OPEN_VERIFY_NONE };
    struct bytes image = image_from(in_file);
    write_file("filter", image.data, image.size);
    int fd = open("filter", O_RDONLY);
    for (size_t i = 0; i < ROWS(flags); i++) {
        assert_not_opened("filter", flags[i], BLOOMFILE_EFLAGS);
        bloomfile_filter *f = (void *)&f;
        assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), flags[i]),
                     BLOOMFILE_EFLAGS);
        assert_null(f);
        f = (void *)&f;
        assert_error(open_from(&f, bloomfile_from_fd(fd), flags[i]), BLOOMFILE_EFLAGS);
        assert_null(f);
    }
    bloomfile_filter *none;
    assert_error(
        open_from(&none, bloomfile_from_memory(image.data, image.size), BLOOMFILE_OPEN_WRITE),
        BLOOMFILE_EFLAGS);
    assert_error(open_from(&none, bloomfile_from_fd(fd), BLOOMFILE_OPEN_WRITE), BLOOMFILE_EFLAGS);
    close(fd);
    free(image.data);
}

TEST_IN_DIR(every_truncation_is_refused)
{
    static const struct recipe small = { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 70, 6, 50, 0 };
    struct bytes image = image_from(small);
    write_file("filter", image.data, image.size);
    for (size_t size = image.size; size-- > 0;) {
        assert_int_equal(truncate("filter", (off_t)size), 0);
        assert_not_opened("filter", 0, size == 0 ? BLOOMFILE_EEMPTY : BLOOMFILE_ETRUNCATED);
    }
    free(image.data);
}

TEST_IN_DIR(extra_bytes_at_the_end_are_refused)
{
    struct bytes image = image_from(in_file);
    static const size_t extra[] = { 1, 3, 4, 63, 64, 4095, 4096, 1 << 20 };
    for (size_t i = 0; i < ROWS(extra); i++) {
        write_file("filter", image.data, image.size);
        assert_int_equal(truncate("filter", (off_t)(image.size + extra[i])), 0);
        assert_not_opened("filter", 0, BLOOMFILE_ETRAILING);
    }
    free(image.data);
}

TEST_IN_DIR(open_refuses_a_damaged_body_only_with_verify_full)
{
    struct bytes image = image_from(in_file);
    image.data[IN_FILE + 5000] ^= 0x20;
    write_file("filter", image.data, image.size);
    assert_not_opened("filter", BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_EPAGE);
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    bloomfile_close(f);
    free(image.data);
}

/* ---- inside another file */

TEST_IN_DIR(a_filter_is_opened_at_any_offset_of_a_file)
{
    static const uint64_t offsets[] = { 0, 1, 7, 64, 511, 4095, 4096, 4097, 70001 };
    static const struct recipe *const recipes[] = { &in_file, &embedded };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(*recipes[r]);
        for (size_t i = 0; i < ROWS(offsets); i++) {
            int fd = open("container", O_RDWR | O_CREAT | O_TRUNC, 0666);
            assert_true(fd >= 0);
            assert_int_equal(pwrite(fd, image.data, image.size, (off_t)offsets[i]), image.size);
            bloomfile_filter *to_the_end;
            assert_error(open_from(&to_the_end, part_of_fd(fd, offsets[i], BLOOMFILE_FROM_REST), 0),
                         0);
            assert_int_equal(pwrite(fd, "more", 4, (off_t)(offsets[i] + image.size)), 4);
            bloomfile_filter *f;
            assert_error(
                open_from(&f, part_of_fd(fd, offsets[i], image.size), BLOOMFILE_OPEN_VERIFY_FULL),
                0);
            bloomfile_filter *none;
            assert_error(open_from(&none, part_of_fd(fd, offsets[i], BLOOMFILE_FROM_REST), 0),
                         BLOOMFILE_ETRAILING);
            assert_error(open_from(&none, part_of_fd(fd, offsets[i], image.size + 1), 0),
                         BLOOMFILE_ETRAILING);
            assert_error(open_from(&none, part_of_fd(fd, offsets[i], image.size - 1), 0),
                         BLOOMFILE_ETRUNCATED);
            assert_null(none);
            close(fd);
            assert_answers(f, recipes[r], image);
            assert_answers(to_the_end, recipes[r], image);
            assert_int_equal(bloomfile_is_stale(f), 0);
            bloomfile_close(f);
            bloomfile_close(to_the_end);
        }
        free(image.data);
    }
}

TEST_IN_DIR(a_range_outside_of_the_file_is_refused)
{
    struct bytes image = image_from(in_file);
    write_file("filter", image.data, image.size);
    uint64_t size = image.size;
    const struct {
        uint64_t offset, length;
        int error;
    } rows[] = {
        { 0, 0, BLOOMFILE_EEMPTY },
        { size, 0, BLOOMFILE_EEMPTY },
        { size, BLOOMFILE_FROM_REST, BLOOMFILE_EEMPTY },
        { size + 1, 0, BLOOMFILE_ETRUNCATED },
        { size + 1, BLOOMFILE_FROM_REST, BLOOMFILE_ETRUNCATED },
        { size, 1, BLOOMFILE_ETRUNCATED },
        { 0, size + 1, BLOOMFILE_ETRUNCATED },
        { 1, size, BLOOMFILE_ETRUNCATED },
        { UINT64_MAX - 1, 0, BLOOMFILE_ETRUNCATED },
        { UINT64_MAX - 1, 2, BLOOMFILE_ETRUNCATED },
        { UINT64_MAX - 1, BLOOMFILE_FROM_REST, BLOOMFILE_ETRUNCATED },
        { BLOOMFILE_FROM_HERE, BLOOMFILE_FROM_REST, BLOOMFILE_EVALUE },
        { 4096, UINT64_MAX - 4095, BLOOMFILE_ETRUNCATED },
        { 0, UINT64_MAX - 1, BLOOMFILE_ETRUNCATED },
        { 1ULL << 63, 1ULL << 63, BLOOMFILE_ETRUNCATED },
    };
    int fd = open("filter", O_RDONLY);
    for (size_t i = 0; i < ROWS(rows); i++) {
        bloomfile_filter *f = (void *)&f;
        assert_error(open_from(&f, part_of_fd(fd, rows[i].offset, rows[i].length), 0),
                     rows[i].error);
        assert_null(f);
    }
    close(fd);
    free(image.data);
}

TEST_IN_DIR(a_descriptor_that_cannot_be_read_is_refused)
{
    struct bytes image = image_from(in_file);
    write_file("filter", image.data, image.size);
    free(image.data);
    bloomfile_filter *f;
    assert_error(open_from(&f, bloomfile_from_fd(-1), 0), EBADF);
    int write_only = open("filter", O_WRONLY), directory = open(".", O_RDONLY), pipes[2];
    assert_error(open_from(&f, bloomfile_from_fd(write_only), 0), EBADF);
    assert_error(open_from(&f, bloomfile_from_fd(directory), 0), EISDIR);
    assert_error(open_from(&f, part_of_fd(directory, 1 << 30, BLOOMFILE_FROM_REST), 0), EISDIR);
    assert_int_equal(pipe(pipes), 0);
    assert_error(open_from(&f, bloomfile_from_fd(pipes[0]), 0), BLOOMFILE_ENOTREGULAR);
    assert_null(f);
    close(write_only);
    close(directory);
    close(pipes[0]);
    close(pipes[1]);
}

/* ---- in memory */

TEST_IN_DIR(an_image_in_memory_is_opened_at_any_alignment)
{
    static const struct recipe recipes[] = {
        { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 10, 6, 50, 0 },
        { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 1001, 5, 50, 3 },
        { BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 1001, 5, 50, 0 },
    };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(recipes[r]);
        for (size_t shift = 0; shift < 64; shift++) {
            uint8_t *copy = malloc(image.size + shift);
            assert_non_null(copy);
            memcpy(copy + shift, image.data, image.size);
            bloomfile_filter *f;
            assert_error(open_from(&f, bloomfile_from_memory(copy + shift, image.size), 0), 0);
            assert_answers(f, &recipes[r], image);
            assert_error(bloomfile_verify(f, 1, NULL), 0);
            assert_int_equal(bloomfile_is_stale(f), 0);
            bloomfile_close(f);
            free(copy);
        }
        free(image.data);
    }
}

TEST_IN_DIR(null_memory_of_size_0_is_an_empty_image)
{
    bloomfile_filter *f = (void *)&f;
    assert_error(open_from(&f, bloomfile_from_memory(NULL, 0), 0), BLOOMFILE_EEMPTY);
    assert_null(f);
}

TEST_IN_DIR(closing_null_does_nothing)
{
    bloomfile_close(NULL);
}

int main(void)
{
    return run_all(NULL, NULL);
}
