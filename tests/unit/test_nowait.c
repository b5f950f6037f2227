/* SPDX-License-Identifier: MIT
 * Lookups that do not wait for a disk: the usual results while all is in memory, else "maybe". */
#include "support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/file.h"

enum {
    KEYS = 3000,
    ABSENT = 2000,
    OFFSET = 1000,
};

static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                    BLOOMFILE_LAYOUT_COUNTING, BLOOMFILE_LAYOUT_RIBBON };

/* ---- the system call and its simulated failures */

static unsigned calls, fails_from; /* the first call that fails, or 0 */
static int failure;                /* an errno; 0: too few bytes */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (size_t i = 0; i < ROWS(a); i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_preadv2 && ++calls >= fails_from && fails_from != 0) {
        errno = failure;
        return failure != 0 ? -1 : 1;
    }
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int start(void **state)
{
    calls = fails_from = 0;
    return enter_temp_dir(state);
}

/* ---- filters of number(0, 0) to number(0, KEYS - 1) */

static struct bytes image_of(uint32_t layout)
{
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .layout = layout });
    add_numbers(b, 0, KEYS);
    return last_image(b);
}

static void make_file(uint32_t layout)
{
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .layout = layout });
    add_numbers(b, 0, KEYS);
    assert_error(bloomfile_builder_write(b, TO_PATH("filter", BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(b);
}

static bloomfile_filter *open_file(const char *path, unsigned flags)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, flags), 0);
    return f;
}

static void need_tell(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool tells = file_is_cached(fd, 0, 512);
    close(fd);
    if (!tells)
        skip("the file system does not say what is in memory");
}

static void assert_same_answers(bloomfile_filter *f)
{
    for (uint64_t i = 0; i < KEYS + ABSENT; i++) {
        const uint64_t digest = number(0, i);
        const bool hit = bloomfile_contains_digest_nowait(f, digest);
        assert_int_equal(hit, bloomfile_contains_digest(f, digest));
        assert_true(hit || i >= KEYS);
    }
    assert_error(bloomfile_check(f), 0);
    bloomfile_close(f);
}

static void assert_all_maybe(const bloomfile_filter *f)
{
    for (uint64_t i = 0; i < KEYS + ABSENT; i++)
        assert_true(bloomfile_contains_digest_nowait(f, number(0, i)));
    assert_error(bloomfile_damage(f), 0);
}

/* ---- lookups */

TEST_WITH(resident_file_answers_like_other_lookups, start, leave_temp_dir)
{
    for (size_t l = 0; l < ROWS(layouts); l++) {
        make_file(layouts[l]);
        need_tell("filter");
        assert_same_answers(open_file("filter", BLOOMFILE_OPEN_NOWAIT));
        assert_same_answers(
            open_file("filter", BLOOMFILE_OPEN_NOWAIT | BLOOMFILE_OPEN_VERIFY_FULL));
    }
}

TEST_WITH(image_within_a_file_answers_like_other_lookups, start, leave_temp_dir)
{
    for (size_t l = 0; l < ROWS(layouts); l++) {
        const struct bytes image = image_of(layouts[l]);
        int fd = open("blob", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_int_equal(pwrite(fd, image.data, image.size, OFFSET), image.size);
        need_tell("blob");
        bloomfile_filter *f;
        assert_error(open_from(&f, part_of_fd(fd, OFFSET, image.size), BLOOMFILE_OPEN_NOWAIT), 0);
        close(fd);
        assert_same_answers(f);
        free(image.data);
    }
}

TEST_WITH(sealed_series_answers_like_other_lookups, start, leave_temp_dir)
{
    const struct bytes image = series_image(BLOOMFILE_LAYOUT_BLOCKED, KEYS + 5000);
    write_file("series", image.data, image.size);
    need_tell("series");
    assert_same_answers(open_file("series", BLOOMFILE_OPEN_NOWAIT));
    free(image.data);
}

TEST_WITH(live_filters_and_series_need_no_nowait_flag, start, leave_temp_dir)
{
    static const uint32_t series[] = { 0, BLOOMFILE_SERIES_GROW };
    for (size_t s = 0; s < ROWS(series); s++) {
        const struct bloomfile_params params = { .struct_size = sizeof params,
                                                 .capacity = 2 * KEYS,
                                                 .series = series[s] };
        bloomfile_filter *f;
        assert_error(bloomfile_create(&f, "live", &params, BLOOMFILE_TO_REPLACE), 0);
        need_tell("live");
        for (uint64_t i = 0; i < KEYS; i++)
            assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
        assert_same_answers(f);
        assert_same_answers(open_file("live", 0));
        assert_error(bloomfile_unlink("live"), 0);
    }
}

TEST_WITH(memory_and_copies_answer_without_a_system_call, start, leave_temp_dir)
{
    make_file(BLOOMFILE_LAYOUT_BLOCKED);
    assert_same_answers(open_file("filter", BLOOMFILE_OPEN_COPY));
    const struct bytes image = image_of(BLOOMFILE_LAYOUT_CLASSIC);
    assert_same_answers(open_image(image, 0));
    free(image.data);
    assert_int_equal(calls, 0);
}

TEST_WITH(nowait_lookup_without_the_flag_answers_maybe, start, leave_temp_dir)
{
    make_file(BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *f = open_file("filter", 0);
    assert_all_maybe(f);
    bloomfile_close(f);
}

TEST_WITH(nowait_lookup_answers_maybe_if_its_system_call_fails, start, leave_temp_dir)
{
    static const int failures[] = { EAGAIN, EOPNOTSUPP, EIO, ENOSYS, 0 };
    for (size_t l = 0; l < ROWS(layouts); l++)
        for (size_t i = 0; i < ROWS(failures); i++) {
            const unsigned lock =
                i == 0 ? BLOOMFILE_OPEN_LOCK : 0; /* a child of fork does not inherit the lock */
            make_file(layouts[l]);
            bloomfile_filter *f = open_file("filter", BLOOMFILE_OPEN_NOWAIT | lock);
            failure = failures[i];
            fails_from = 1;
            assert_all_maybe(f);
            fails_from = 0;
            bloomfile_close(f);
        }
}

/* The page is in memory, its checksum is not. So the page is not checked and not trusted. */
TEST_WITH(checksum_that_is_not_resident_answers_maybe, start, leave_temp_dir)
{
    make_file(BLOOMFILE_LAYOUT_BLOCKED);
    need_tell("filter");
    bloomfile_filter *f = open_file("filter", BLOOMFILE_OPEN_NOWAIT);
    failure = EAGAIN;
    for (uint64_t i = KEYS; i < KEYS + ABSENT; i++) {
        calls = 0;
        fails_from = 2;
        assert_true(bloomfile_contains_digest_nowait(f, number(0, i)));
        assert_int_equal(calls, 2);
    }
    fails_from = 0;
    assert_same_answers(f);
}

TEST_WITH(nonresident_live_record_gives_maybe, start, leave_temp_dir)
{
    const struct bloomfile_params params = { .struct_size = sizeof params, .capacity = KEYS };
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "live", &params, 0), 0);
    need_tell("live");
    calls = 0;
    fails_from = 2;
    failure = EAGAIN;
    assert_true(bloomfile_contains_digest_nowait(f, 7));
    fails_from = 0;
    assert_false(bloomfile_contains_digest_nowait(f, 7));
    bloomfile_close(f);
}

TEST_WITH(damaged_page_answers_maybe_and_is_reported, start, leave_temp_dir)
{
    for (size_t l = 0; l < ROWS(layouts); l++) {
        make_file(layouts[l]);
        need_tell("filter");
        struct bytes file = read_file("filter");
        file.data[4096 + 100] ^= 1;
        write_file("filter", file.data, file.size);
        bloomfile_filter *f = open_file("filter", BLOOMFILE_OPEN_NOWAIT);
        for (uint64_t i = 0; i < KEYS; i++)
            assert_true(bloomfile_contains_digest_nowait(f, number(0, i)));
        assert_error(bloomfile_damage(f), BLOOMFILE_EPAGE);
        bloomfile_close(f);
        free(file.data);
    }
}

/* A tmpfs may report residence or not. */
TEST_WITH(lookup_on_tmpfs_gives_no_wrong_no, start, leave_temp_dir)
{
    char folder[] = "/dev/shm/bloomfile-XXXXXX", path[64];
    if (mkdtemp(folder) == NULL)
        skip("there is no /dev/shm");
    snprintf(path, sizeof path, "%s/filter", folder);
    bloomfile_builder *b = new_builder((struct bloomfile_params){ 0 });
    add_numbers(b, 0, KEYS);
    const int error = bloomfile_builder_write(b, TO_PATH(path, 0));
    bloomfile_builder_free(b);
    bloomfile_filter *f = error == 0 ? open_file(path, BLOOMFILE_OPEN_NOWAIT) : NULL;
    unlink(path);
    rmdir(folder);
    assert_error(error, 0);
    for (uint64_t i = 0; i < KEYS; i++)
        assert_true(bloomfile_contains_digest_nowait(f, number(0, i)));
    assert_error(bloomfile_check(f), 0);
    bloomfile_close(f);
}

TEST_WITH(unnamed_hash_answers_maybe_and_sets_an_error, start, leave_temp_dir)
{
    bloomfile_builder *b = new_builder(
        (struct bloomfile_params){ .hash_id = BLOOMFILE_APP_HASH_FIRST, .self_test = 1 });
    const struct bytes image = last_image(b);
    bloomfile_filter *f;
    assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), 0), 0);
    assert_true(bloomfile_contains_digest_nowait(f, 1));
    assert_error(bloomfile_damage(f), BLOOMFILE_EHASH);
    bloomfile_close(f);
    free(image.data);
}

int main(void)
{
    return run_all(NULL, NULL);
}
