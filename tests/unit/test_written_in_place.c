/* SPDX-License-Identifier: MIT
 * Sealed files that are overwritten in place while they are open: every layout, every way to
 * write and every way to open. */
#include "live_support.h"

#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEYS = 20000,
    PAGE = 4096,
    BAD_PAGE = 3, /* of the file */
};

/* ---- a system without statx() */

static bool no_statx;

struct statx;
__attribute__((weak)) /* the C library may lack it */
int __real_statx(int folder, const char *path, int flags, unsigned mask, struct statx *out);
int __wrap_statx(int folder, const char *path, int flags, unsigned mask, struct statx *out);
int __wrap_statx(int folder, const char *path, int flags, unsigned mask, struct statx *out)
{
    if (!no_statx)
        return __real_statx(folder, path, flags, mask, out);
    errno = ENOSYS;
    return -1;
}

/* ---- images */

enum kind {
    BLOCKED,
    CLASSIC,
    COUNTING,
    RIBBON,
    SLICE,
    SERIES,
    KINDS
};
static const char *const kind_names[] = { "blocked", "classic", "counting",
                                          "ribbon",  "slice",   "series" };
static struct bytes images[KINDS];

static struct bytes build(enum kind kind)
{
    if (kind == SERIES)
        return series_image(BLOOMFILE_LAYOUT_BLOCKED, KEYS);
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout =
        kind == SLICE ? BLOOMFILE_LAYOUT_BLOCKED : BLOOMFILE_LAYOUT_BLOCKED + (uint32_t)kind;
    if (kind == SLICE) {
        params.capacity = KEYS;
        params.slices = 2;
        params.slice = 1;
    }
    bloomfile_builder *b = new_builder(params);
    for (uint64_t i = 0; i < KEYS; i++) {
        const uint64_t digest = number(0, i);
        assert_error(bloomfile_builder_add_digests(b, &digest, 1), 0);
    }
    struct bytes file = finish_file(b);
    bloomfile_builder_free(b);
    return file;
}

static int build_images(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    for (unsigned kind = 0; kind < KINDS; kind++)
        images[kind] = build(kind);
    return leave_temp_dir(state);
}

static int free_images(void **state)
{
    for (unsigned kind = 0; kind < KINDS; kind++)
        free(images[kind].data);
    return 0;
}

static void make(enum kind kind)
{
    write_file("filter", images[kind].data, images[kind].size);
    wait_for_file_times();
}

static uint64_t digests[2 * KEYS];

static size_t count_hits(const bloomfile_filter *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        digests[i] = number(0, i);
    return bloomfile_contains_digests(f, digests + from, (size_t)(to - from), NULL);
}

/* Looks up a key in each page. */
static void look_up_all(const bloomfile_filter *f)
{
    assert_int_equal(count_hits(f, 0, KEYS), KEYS);
    assert_true(count_hits(f, KEYS, 2 * KEYS) < KEYS);
}

static void assert_all_maybe(const bloomfile_filter *f)
{
    assert_int_equal(count_hits(f, 0, 2 * KEYS), 2 * KEYS);
    for (uint64_t i = KEYS; i < KEYS + 100; i++)
        assert_true(bloomfile_contains_digest(f, number(0, i)));
}

/* ---- ways to write; they return false if the file system cannot do it */

static void write_at(const void *bytes, size_t size, off_t at)
{
    int fd = open("filter", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, at), size);
    assert_int_equal(close(fd), 0);
}

static bool zero_page(const struct bytes *image)
{
    static const uint8_t zeros[PAGE];
    write_at(zeros, PAGE, BAD_PAGE * PAGE);
    return true;
}

static bool zero_body(const struct bytes *image)
{
    uint8_t *zeros = calloc(image->size, 1);
    assert_non_null(zeros);
    write_at(zeros, image->size - IN_FILE, IN_FILE);
    free(zeros);
    return true;
}

static bool truncate_and_extend(const struct bytes *image)
{
    assert_int_equal(truncate("filter", IN_FILE), 0);
    assert_int_equal(truncate("filter", (off_t)image->size), 0);
    return true;
}

static bool shorten(const struct bytes *image)
{
    assert_int_equal(truncate("filter", (off_t)image->size - PAGE), 0);
    return true;
}

static bool punch_hole(const struct bytes *image)
{
    int fd = open("filter", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    const bool done = fallocate(fd, mode, BAD_PAGE * PAGE, PAGE) == 0;
    assert_true(done || errno == EOPNOTSUPP);
    assert_int_equal(close(fd), 0);
    return done;
}

/* Like rsync --inplace, with another filter of the same header size. */
static bool write_block_by_block(const struct bytes *image)
{
    for (size_t at = image->size / PAGE * PAGE; at > 0; at -= PAGE) {
        uint8_t block[PAGE];
        memcpy(block, image->data + at - PAGE, PAGE);
        if (at > IN_FILE)
            block[at / PAGE % PAGE] ^= 0xFF;
        write_at(block, PAGE, (off_t)at - PAGE);
    }
    return true;
}

static bool write_the_same(const struct bytes *image)
{
    write_at(image->data, image->size, 0);
    return true;
}

static bool touch(const struct bytes *image)
{
    assert_int_equal(utimensat(AT_FDCWD, "filter", NULL, 0), 0);
    return true;
}

static bool (*const ways[])(const struct bytes *image) = {
    zero_page,      zero_body, truncate_and_extend, shorten, punch_hole, write_block_by_block,
    write_the_same, touch,
};
static const char *const way_names[] = {
    "a page zeroed",
    "body zeroed",
    "truncated and extended",
    "shortened",
    "hole punched",
    "rewritten block by block",
    "rewritten with the same",
    "touched",
};

static const unsigned mapped[] = { 0, BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE,
                                   BLOOMFILE_OPEN_PREFAULT, BLOOMFILE_OPEN_LOCK };

/* ---- size or time of modification */

static void check_reported(enum kind kind, size_t way, unsigned flags, bool by_verify)
{
    make(kind);
    bloomfile_filter *f = opened("filter", flags);
    look_up_all(f);
    assert_error(bloomfile_check(f), 0);
    assert_error(bloomfile_recheck(f), 0);
    if (!ways[way](&images[kind])) {
        bloomfile_close(f);
        return;
    }
    const int told = by_verify ? bloomfile_verify(f, 1, NULL) : bloomfile_check(f);
    if (told != BLOOMFILE_ECHANGED)
        fail_msg("%s, %s, flags %u: %s", kind_names[kind], way_names[way], flags,
                 bloomfile_errname(told));
    assert_all_maybe(f);
    write_at(images[kind].data, images[kind].size, 0); /* this does not repair the handle */
    assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
    assert_error(bloomfile_recheck(f), BLOOMFILE_ECHANGED);
    assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_ECHANGED);
    assert_all_maybe(f);
    bloomfile_close(f);
}

TEST_IN_DIR(sealed_file_written_in_place_is_reported)
{
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (size_t way = 0; way < ROWS(ways); way++)
            check_reported(kind, way, mapped[(kind + way) % ROWS(mapped)], (kind + way) % 2 != 0);
    for (size_t i = 0; i < ROWS(mapped); i++) {
        check_reported(BLOCKED, 0, mapped[i], false);
        check_reported(SERIES, 0, mapped[i], false);
    }
}

TEST_IN_DIR(file_written_in_place_is_reported_without_statx)
{
    no_statx = true;
    for (size_t way = 0; way < ROWS(ways); way++)
        check_reported(way % KINDS, way, 0, false);
    no_statx = false;
}

/* A bad page that no lookup has used before is also reported as ECHANGED. */
TEST_IN_DIR(write_in_place_is_reported_as_a_change_not_as_damage)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        make(kind);
        bloomfile_filter *f = opened("filter", 0);
        zero_body(&images[kind]);
        assert_int_equal(count_hits(f, 0, KEYS), KEYS);
        assert_true(info_of(f).bad_pages > 0);
        assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
        bloomfile_close(f);
    }
}

TEST_IN_DIR(copy_in_memory_is_unaffected_by_a_write_to_the_file)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        make(kind);
        bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_COPY);
        zero_body(&images[kind]);
        look_up_all(f);
        assert_error(bloomfile_recheck(f), 0);
        assert_int_equal(bloomfile_is_stale(f), 1);
        bloomfile_close(f);
    }
}

TEST_IN_DIR(sealing_writer_reports_a_write_in_place)
{
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_seal(f, NULL), 0);
    wait_for_file_times();
    assert_true(has_numbers(f, 0, LIVE_KEYS));
    assert_error(bloomfile_recheck(f), 0);
    touch(NULL);
    assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
    assert_true(has_numbers(f, ABSENT, ABSENT + 10));
    bloomfile_close(f);
}

/* ---- time of status change alone */

static void change_mode(void)
{
    struct stat status;
    assert_int_equal(stat("filter", &status), 0);
    assert_int_equal(chmod("filter", status.st_mode ^ S_IXUSR), 0);
    wait_for_file_times();
}

static void check_again(const bloomfile_filter *f)
{
    assert_error(bloomfile_check(f), 0);
    assert_int_equal(bloomfile_is_stale(f), 1);
    look_up_all(f);
    assert_error(bloomfile_recheck(f), 0);
    assert_int_equal(info_of(f).bad_pages, 0);
}

TEST_IN_DIR(changed_mode_or_name_is_not_a_changed_file)
{
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < ROWS(mapped); i++) {
            make(kind);
            bloomfile_filter *f = opened("filter", mapped[i]);
            look_up_all(f);
            change_mode();
            check_again(f);
            change_mode();
            check_again(f);
            assert_int_equal(rename("filter", "other"), 0);
            assert_error(bloomfile_recheck(f), 0);
            look_up_all(f);
            assert_int_equal(rename("other", "filter"), 0);
            check_again(f);
            bloomfile_close(f);
        }
}

/* Like cp --preserve with a damaged copy. */
static void write_and_restore_time(bool (*way)(const struct bytes *image), enum kind kind)
{
    struct stat status;
    assert_int_equal(stat("filter", &status), 0);
    way(&images[kind]);
    const struct timespec times[] = { status.st_atim, status.st_mtim };
    assert_int_equal(utimensat(AT_FDCWD, "filter", times, 0), 0);
}

static bool time_of_change_is_kept(void)
{
    struct stat was, is;
    make(BLOCKED);
    assert_int_equal(stat("filter", &was), 0);
    change_mode();
    assert_int_equal(stat("filter", &is), 0);
    return was.st_ctim.tv_sec != is.st_ctim.tv_sec || was.st_ctim.tv_nsec != is.st_ctim.tv_nsec;
}

enum look {
    BY_LOOKUP,
    BY_RECHECK,
    BY_VERIFY,
    LOOKS
};

static int find(const bloomfile_filter *f, enum look look)
{
    if (look == BY_RECHECK)
        return bloomfile_recheck(f);
    if (look == BY_VERIFY)
        return bloomfile_verify(f, 1, NULL);
    assert_error(bloomfile_check(f), 0);
    assert_int_equal(count_hits(f, 0, KEYS), KEYS);
    return bloomfile_check(f);
}

TEST_IN_DIR(page_found_good_before_is_reported_as_changed)
{
    if (!time_of_change_is_kept())
        skip("the file system keeps no time of change");
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned look = 0; look < LOOKS; look++)
            for (unsigned full = 0; full < 2; full++) {
                make(kind);
                bloomfile_filter *f = opened("filter", full ? BLOOMFILE_OPEN_VERIFY_FULL : 0);
                look_up_all(f);
                write_and_restore_time(look % 2 == 0 ? zero_page : zero_body, kind);
                assert_error(find(f, look), BLOOMFILE_ECHANGED);
                assert_all_maybe(f);
                assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
                bloomfile_close(f);
            }
}

/* No result relied on it. */
TEST_IN_DIR(page_never_checked_is_reported_as_damaged)
{
    if (!time_of_change_is_kept())
        skip("the file system keeps no time of change");
    make(CLASSIC);
    bloomfile_filter *f = opened("filter", 0);
    assert_error(bloomfile_check(f), 0);
    write_and_restore_time(zero_page, CLASSIC);
    assert_error(bloomfile_recheck(f), 0);
    assert_int_equal(count_hits(f, 0, KEYS), KEYS);
    assert_error(bloomfile_check(f), BLOOMFILE_EPAGE);
    assert_int_equal(info_of(f).bad_pages, 1);
    bloomfile_close(f);
}

/* ---- size and times cannot be compared */

static void set_way(const char *target)
{
    (void)unlink("way");
    make_symlink(target, "way");
}

/* By a name that cannot be looked up later, also not by root. */
static bloomfile_filter *opened_by_link(unsigned flags)
{
    set_way(".");
    bloomfile_filter *f = opened("way/filter", flags);
    look_up_all(f);
    set_way("way");
    assert_int_equal(access("way/filter", F_OK), -1);
    assert_int_equal(errno, ELOOP);
    return f;
}

TEST_IN_DIR(write_is_reported_although_the_name_cannot_be_looked_up)
{
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (size_t way = 0; way < ROWS(ways); way++) {
            make(kind);
            bloomfile_filter *f = opened_by_link(way % 2 ? BLOOMFILE_OPEN_VERIFY_FULL : 0);
            const bool writes = ways[way](&images[kind]) && way < 6;
            const int told = bloomfile_check(f);
            if (told != (writes ? BLOOMFILE_ECHANGED : 0))
                fail_msg("%s, %s: %s", kind_names[kind], way_names[way], bloomfile_errname(told));
            if (writes)
                assert_all_maybe(f);
            bloomfile_close(f);
        }
}

TEST_IN_DIR(name_that_cannot_be_looked_up_is_not_a_changed_file)
{
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < ROWS(mapped); i++) {
            make(kind);
            bloomfile_filter *f = opened_by_link(mapped[i]);
            for (unsigned times = 0; times < 3; times++)
                check_again(f);
            set_way(".");
            assert_error(bloomfile_recheck(f), 0);
            assert_int_equal(bloomfile_is_stale(f), 0);
            zero_page(&images[kind]);
            assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
            bloomfile_close(f);
        }
}

/* As after a writer died before it wrote the second record. */
static struct bytes make_unfinished(void)
{
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    const size_t second = IN_FILE / 2 + IN_FILE / 4 * slot_in_force("filter");
    struct bytes joined = read_file("filter");
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
    struct bytes sealed_file = read_file("filter");
    assert_true(memcmp(joined.data + second, sealed_file.data + second, IN_FILE / 4) != 0);
    write_at(joined.data + second, IN_FILE / 4, (off_t)second);
    free(joined.data);
    wait_for_file_times();
    return sealed_file;
}

static bloomfile_filter *opened_unfinished(void)
{
    bloomfile_filter *f = opened("filter", 0);
    assert_int_equal(info_of(f).state, BLOOMFILE_STATE_SEALED);
    assert_true(has_numbers(f, 0, LIVE_KEYS));
    assert_true(count_hits(f, KEYS, 2 * KEYS) < KEYS);
    return f;
}

TEST_IN_DIR(write_to_an_unfinished_seal_is_reported)
{
    for (size_t way = 0; way < ROWS(ways); way++) {
        struct bytes sealed_file = make_unfinished();
        bloomfile_filter *f = opened_unfinished();
        const bool writes = ways[way](&sealed_file) && way < 6;
        assert_error(bloomfile_check(f), writes ? BLOOMFILE_ECHANGED : 0);
        assert_true(has_numbers(f, 0, LIVE_KEYS));
        bloomfile_close(f);
        free(sealed_file.data);
        assert_int_equal(unlink("filter"), 0);
    }
}

TEST_IN_DIR(completed_seal_is_not_a_changed_file)
{
    struct bytes sealed_file = make_unfinished();
    bloomfile_filter *f = opened_unfinished(), *writer;
    assert_error(bloomfile_open(&writer, "filter", BLOOMFILE_OPEN_WRITE), BLOOMFILE_ESEALED);
    assert_file_holds("filter", sealed_file.data, sealed_file.size);
    for (unsigned times = 0; times < 3; times++)
        assert_error(bloomfile_check(f), 0);
    zero_page(&sealed_file);
    assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
    bloomfile_close(f);
    free(sealed_file.data);
}

/* ---- another file */

TEST_IN_DIR(file_renamed_over_the_filter_makes_it_stale_not_changed)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        make(kind);
        bloomfile_filter *f = opened("filter", 0);
        look_up_all(f);
        write_file("newer", images[CLASSIC].data, images[CLASSIC].size);
        assert_int_equal(rename("newer", "filter"), 0);
        zero_body(&images[CLASSIC]);
        assert_error(bloomfile_recheck(f), 0);
        look_up_all(f);
        assert_int_equal(bloomfile_is_stale(f), 1);
        assert_int_equal(unlink("filter"), 0);
        assert_error(bloomfile_recheck(f), 0);
        look_up_all(f);
        bloomfile_close(f);
    }
}

TEST_IN_DIR(only_the_header_is_compared_for_a_descriptor)
{
    make(BLOCKED);
    int fd = open("filter", O_RDONLY | O_CLOEXEC);
    bloomfile_filter *f;
    assert_error(open_from(&f, bloomfile_from_fd(fd), 0), 0);
    assert_int_equal(close(fd), 0);
    look_up_all(f);
    touch(NULL);
    assert_error(bloomfile_recheck(f), 0);
    look_up_all(f);
    bloomfile_close(f);
}

int main(void)
{
    return run_all(build_images, free_images);
}
