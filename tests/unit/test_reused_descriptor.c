/* SPDX-License-Identifier: MIT
 * The application closes a handle's descriptor, and a file of its own gets that number. The
 * library must not write, lock, unlock or close that file. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/handle.h"

enum {
    SIZE = 100000, /* size of the foreign file: room for a record */
    AT = 13,       /* the owner's file position */
};
static const off_t locked[] = { 0, 1, 2, 3, 64, 100 };
static uint8_t content[SIZE];

/* ---- the foreign file */

static void take_number(int fd)
{
    memset(content, 'v', sizeof content);
    write_file("victim", content, sizeof content);
    int own = open("victim", O_RDWR | O_CLOEXEC);
    assert_true(own >= 0 && own != fd);
    assert_int_equal(dup2(own, fd), fd);
    assert_int_equal(close(own), 0);
    assert_int_equal(lseek(fd, AT, SEEK_SET), AT);
    for (size_t i = 0; i < ROWS(locked); i++)
        assert_int_equal(lock_byte(fd, F_WRLCK, locked[i]), 0);
}

static void assert_untouched(int fd)
{
    assert_int_equal(lseek(fd, 0, SEEK_CUR), AT);
    int other = open("victim", O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < ROWS(locked); i++)
        assert_int_equal(lock_on_byte(other, locked[i]), F_WRLCK);
    assert_int_equal(lock_on_byte(other, 4), F_UNLCK);
    assert_int_equal(close(other), 0);
    assert_file_holds("victim", content, sizeof content);
    assert_int_equal(close(fd), 0);
}

/* ---- handles */

static bloomfile_filter *create(uint32_t layout, uint32_t series, unsigned flags)
{
    struct bloomfile_params params = live_params(layout);
    params.series = series;
    if (series != 0) {
        params.bits = 0;
        params.hashes = 0;
        params.capacity = 1000;
    }
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "filter", &params, flags), 0);
    add_digests_of(f, 0, LIVE_KEYS);
    return f;
}

static void remove_files(void)
{
    assert_int_equal(unlink("filter"), 0);
}

TEST_IN_DIR(a_writer_writes_nothing_to_a_foreign_file)
{
    static int (*const ways[])(bloomfile_filter * f) = { sync_filter, bloomfile_finish,
                                                         seal_filter };
    for (size_t way = 0; way <= ROWS(ways); way++)
        for (unsigned exact = 0; exact < 2; exact++) {
            bloomfile_filter *f =
                create(BLOOMFILE_LAYOUT_COUNTING, 0, exact ? BLOOMFILE_OPEN_ADD_EXACT : 0);
            const int fd = f->live->fd;
            take_number(fd);
            assert_error(bloomfile_add_digest(f, number(0, ABSENT), NULL), exact ? EBADF : 0);
            assert_error(bloomfile_remove_digest(f, number(0, 1)), EBADF);
            if (way < ROWS(ways))
                assert_error(ways[way](f), EBADF);
            assert_true(has_numbers(f, 0, LIVE_KEYS));
            assert_error(bloomfile_check(f), EBADF);
            assert_true(has_numbers(f, 0, LIVE_KEYS));
            bloomfile_close(f);
            assert_untouched(fd);
            remove_files();
        }
}

TEST_IN_DIR(a_series_writes_nothing_to_a_foreign_file)
{
    bloomfile_filter *f = create(BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_SERIES_GROW, 0);
    int fd = -1;
    for (int i = 3; i < 100; i++) {
        struct stat own, of_path;
        assert_int_equal(stat("filter", &of_path), 0);
        if (fstat(i, &own) == 0 && own.st_ino == of_path.st_ino)
            fd = i;
    }
    assert_true(fd >= 0);
    take_number(fd);
    assert_error(bloomfile_sync(f, NULL), EBADF);
    assert_error(bloomfile_finish(f), EBADF);
    bloomfile_close(f);
    assert_untouched(fd);
}

TEST_IN_DIR(child_maps_no_foreign_file)
{
    need_wipe_on_fork();
    bloomfile_filter *f = create(BLOOMFILE_LAYOUT_BLOCKED, 0, 0);
    const int fd = f->live->fd;
    take_number(fd);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(bloomfile_add_digest(f, number(0, ABSENT), NULL) == EBADF &&
                      bloomfile_sync(f, NULL) == EBADF
                  ? 0
                  : 1);
    assert_child_succeeds(child);
    bloomfile_close(f);
    assert_untouched(fd);
}

TEST_IN_DIR(a_reader_neither_syncs_nor_closes_a_foreign_file)
{
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *f = opened("filter", 0);
    const int fd = f->live->fd;
    take_number(fd);
    assert_error(bloomfile_copy_sealed(TO_PATH("copy", 0), f, NULL), EBADF);
    assert_error(bloomfile_check(f), EBADF);
    assert_true(has_numbers(f, 0, LIVE_KEYS));
    bloomfile_close(f);
    assert_untouched(fd);
}

/* The descriptor's number is free. */
TEST_IN_DIR(a_closed_descriptor_is_an_error)
{
    bloomfile_filter *f = create(BLOOMFILE_LAYOUT_BLOCKED, 0, 0);
    assert_int_equal(close(f->live->fd), 0);
    assert_error(bloomfile_sync(f, NULL), EBADF);
    assert_error(bloomfile_check(f), EBADF);
    assert_error(bloomfile_finish(f), EBADF);
    bloomfile_close(f);
}

int main(void)
{
    return run_all(NULL, NULL);
}
