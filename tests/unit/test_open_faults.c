/* SPDX-License-Identifier: MIT
 * Every system call and allocation of opening fails once, or from then on. */
#include "live_support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "faults.h"
#include "handle/closing.h"
#include "handle/opening.h"
#include "live/join.h"

static struct bytes image, ribbon;
static int descriptor;
static char *absolute_path;
static bloomfile_filter *writer; /* of "live", which is unclean while it is open */

static int prepare(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    image = image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 512 * 200, 6, 500, 0 });
    ribbon = image_from((struct recipe){ BLOOMFILE_LAYOUT_RIBBON, EMBEDDED, 512 * 200, 0, 500, 0 });
    write_file("filter", image.data, image.size);
    struct bytes series = series_image(BLOOMFILE_LAYOUT_BLOCKED, 9000);
    write_file("series", series.data, series.size);
    free(series.data);
    descriptor = open("filter", O_RDONLY);
    absolute_path = realpath("filter", NULL);
    make_live("live", BLOOMFILE_LAYOUT_BLOCKED);
    writer = opened("live", BLOOMFILE_OPEN_WRITE);
    return descriptor < 0 || absolute_path == NULL;
}

static int clean_up(void **state)
{
    bloomfile_close(writer);
    close(descriptor);
    free(absolute_path);
    free(image.data);
    free(ribbon.data);
    return leave_temp_dir(state);
}

static int open_by_path(bloomfile_filter **f)
{
    return bloomfile_open(f, "filter", 0);
}

static int open_by_absolute_path(bloomfile_filter **f)
{
    return bloomfile_open(f, absolute_path, 0);
}

static int open_by_descriptor(bloomfile_filter **f)
{
    return open_from(f, bloomfile_from_fd(descriptor), BLOOMFILE_OPEN_VERIFY_FULL);
}

static int open_in_memory(bloomfile_filter **f)
{
    return open_from(f, bloomfile_from_memory(image.data, image.size), BLOOMFILE_OPEN_VERIFY_NONE);
}

static int open_copied_from_memory(bloomfile_filter **f)
{
    return open_from(f, bloomfile_from_memory(image.data, image.size),
                     BLOOMFILE_OPEN_COPY | BLOOMFILE_OPEN_LOCK);
}

static int open_ribbon(bloomfile_filter **f)
{
    return open_from(f, bloomfile_from_memory(ribbon.data, ribbon.size), 0);
}

static int open_locked(bloomfile_filter **f)
{
    return bloomfile_open(f, "filter", BLOOMFILE_OPEN_LOCK);
}

static int open_copied(bloomfile_filter **f)
{
    return bloomfile_open(f, "filter", BLOOMFILE_OPEN_COPY | BLOOMFILE_OPEN_LOCK);
}

static int open_live(bloomfile_filter **f)
{
    return bloomfile_open(f, "live", 0);
}

static int open_series(bloomfile_filter **f)
{
    return bloomfile_open(f, "series", 0);
}

static int (*const openings[])(bloomfile_filter **f) = {
    open_by_path, open_by_descriptor,     open_by_absolute_path, open_locked,
    open_copied,  open_in_memory,         open_ribbon,           open_live,
    open_series,  open_copied_from_memory
};

static int open_with(int (*open_it)(bloomfile_filter **f), struct faults faults)
{
    size_t descriptors = open_descriptors();
    bloomfile_filter *f = (void *)&f;
    faults_begin(&faults);
    errno = 0;
    int error = open_it(&f);
    faults_end();
    assert_int_equal(f == NULL, error != 0);
    if (f != NULL)
        assert_true(bloomfile_contains_digest(f, number(0, 77)));
    bloomfile_close(f);
    assert_int_equal(open_descriptors(), descriptors);
    return error;
}

/* A live file is opened again for a separate descriptor. If that fails, the first descriptor is
 * enough. */
static bool does_without(int (*open_it)(bloomfile_filter **f), const struct faults *faults)
{
    return open_it == open_live && faults->call == ON_open64 && faults->nth == 2 &&
           faults->error == EACCES && !faults->for_ever;
}

static int expected(int (*open_it)(bloomfile_filter **f), struct faults faults)
{
    return does_without(open_it, &faults) ? 0 : faults.error;
}

TEST(each_failed_call_fails_the_open_with_its_error)
{
    static const struct {
        enum fault_call call;
        int errors[6];
    } rows[] = {
        { ON_asprintf, { ENOMEM } },
        { ON_calloc, { ENOMEM } },
        { ON_fcntl64, { EMFILE } },
        { ON_fstat64, { EIO, EOVERFLOW } },
        { ON_fstatfs64, { EIO, ENOMEM } },
        { ON_getcwd, { ENOMEM } },
        { ON_malloc, { ENOMEM } },
        { ON_mlock2, { ENOMEM, EPERM } },
        { ON_mmap64, { ENOMEM, EAGAIN, ENODEV, EACCES } },
        { ON_open64, { EACCES, EMFILE, ENFILE, ENOMEM, EIO } },
        { ON_pread64, { EIO, EISDIR } },
        { ON_read, { EIO } },
        { ON_strdup, { ENOMEM } },
    };
    unsigned failed[FAULT_CALL_COUNT] = { 0 };
    for (size_t o = 0; o < ROWS(openings); o++) {
        assert_error(open_with(openings[o], (struct faults){ 0 }), 0);
        unsigned count[FAULT_CALL_COUNT];
        for (unsigned call = 0; call < FAULT_CALL_COUNT; call++)
            count[call] = fault_calls((enum fault_call)call);
        for (size_t i = 0; i < ROWS(rows); i++) {
            enum fault_call call = rows[i].call;
            for (const int *error = rows[i].errors; *error != 0; error++) {
                for (unsigned nth = 1; nth <= count[call]; nth++) {
                    const struct faults one = once(call, nth, *error);
                    const struct faults all = from_then_on(call, nth, *error);
                    assert_error(open_with(openings[o], one), expected(openings[o], one));
                    assert_error(open_with(openings[o], all), expected(openings[o], all));
                    failed[call]++;
                }
            }
        }
    }
    for (size_t i = 0; i < ROWS(rows); i++)
        if (rows[i].call != ON_malloc)
            assert_true(failed[rows[i].call] > 0);
}

TEST(interrupted_calls_are_repeated)
{
    assert_error(open_with(open_by_path, once(ON_open64, 1, EINTR)), 0);
    assert_int_equal(fault_calls(ON_open64), 2);
    for (size_t o = 0; o < 3; o++)
        assert_error(open_with(openings[o], once(ON_pread64, 1, EINTR)), 0);
}

TEST(short_reads_are_continued)
{
    for (size_t o = 0; o < 3; o++) {
        assert_error(open_with(openings[o], (struct faults){ .transfer_at_most = 7 }), 0);
        assert_true(fault_calls(ON_pread64) > 500);
    }
}

TEST(file_that_shrinks_during_open_is_truncated)
{
    for (size_t o = 0; o < 3; o++)
        for (size_t end = 1; end < IN_FILE; end += 100)
            assert_error(open_with(openings[o], (struct faults){ .file_ends_at = end }),
                         BLOOMFILE_ETRUNCATED);
}

/* R4, R6. */
TEST(live_file_is_refused_if_the_boot_identity_is_unknown)
{
    bloomfile_filter *f;
    static const char *const texts[] = { "01234567-89ab", "0123456:-89ab-cdef-0123-456789abcdef",
                                         "g1234567-89ab-cdef-0123-456789abcdef0" };
    for (size_t i = 0; i < ROWS(texts); i++)
        assert_error(open_with(open_live, (struct faults){ .text_read = texts[i] }),
                     BLOOMFILE_ENOBOOT);
    assert_error(open_with(open_live, once(ON_open64, 3, ENOENT)), BLOOMFILE_ENOBOOT);
    assert_error(open_with(open_live, from_then_on(ON_open64, 2, ENOENT)), BLOOMFILE_ENOBOOT);
    struct faults faults = from_then_on(ON_open64, 2, ENOENT);
    faults_begin(&faults);
    int error = bloomfile_open(&f, "live", BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    faults_end();
    assert_error(error, 0);
    assert_int_equal(fault_calls(ON_open64), 2);
    bloomfile_close(f);
}

/* R7. On a layered file system, writers see the upper layer. It exists once the file was opened
 * for writing. */
TEST(live_file_on_overlayfs_is_first_opened_for_writing)
{
    const struct faults layered = { .file_system = 0x794c7630 };
    assert_error(open_with(open_live, layered), 0);
    const unsigned opened_before = fault_calls(ON_open64);
    assert_error(open_with(open_live, (struct faults){ 0 }), 0);
    assert_int_equal(fault_calls(ON_open64), opened_before - 1);
    struct faults faults = once(ON_open64, 2, EROFS);
    faults.file_system = layered.file_system;
    assert_error(open_with(open_live, faults), BLOOMFILE_EFILESYSTEM);
    faults.nth = 3;
    faults.error = ENOENT; /* without /proc, the file of the upper layer cannot be opened */
    assert_error(open_with(open_live, faults), ENOENT);
}

TEST(read_only_live_file_on_overlayfs_is_refused)
{
    assert_error(open_with(open_live, (struct faults){ .read_only = true }), 0);
    assert_error(
        open_with(open_live, (struct faults){ .read_only = true, .file_system = 0x794c7630 }),
        BLOOMFILE_EFILESYSTEM);
}

static int seen_below; /* the descriptor of the file in the lower layer */

/* Replaces the file, as overlayfs does when a file of the lower layer is opened for writing. */
static void copy_up(enum fault_call call)
{
    if (call != ON_open64 || fault_calls(call) != 1)
        return;
    struct bytes below = read_file("layered");
    write_file("above", below.data, below.size);
    free(below.data);
    int fd = open("above", O_RDWR);
    assert_int_equal(dup2(fd, seen_below), seen_below);
    close(fd);
    assert_int_equal(rename("above", "layered"), 0);
}

TEST(file_copied_up_by_its_open_is_not_stale)
{
    bloomfile_filter *f;
    make_live("layered", BLOOMFILE_LAYOUT_BLOCKED);
    seen_below = dup(descriptor); /* the next number */
    close(seen_below);
    faults_begin(&(struct faults){ .file_system = 0x794c7630, .at_each_call = copy_up });
    int error = bloomfile_open(&f, "layered", 0);
    faults_end();
    assert_error(error, 0);
    assert_int_equal(bloomfile_is_stale(f), 0);
    assert_flawless(flaw_of_sound(f));
    bloomfile_close(f);
    assert_int_equal(unlink("layered"), 0);
}

TEST(reader_holds_a_live_file_open_read_only)
{
    bloomfile_filter *f = opened("live", 0);
    assert_int_equal(fcntl(f->live->fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    bloomfile_close(f);
}

/* Without /proc, the library copies the descriptor. */
TEST(duplicated_descriptor_is_above_standard_error)
{
    pid_t child = fork();
    if (child == 0) {
        bloomfile_filter *f;
        int fd = open("live", O_RDONLY);
        close(0);
        faults_begin(&(struct faults){ .call = ON_open64, .nth = 1, .error = ENOENT });
        int error = open_from(&f, bloomfile_from_fd(fd), BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
        faults_end();
        const bool has_it = error == 0 && fcntl(0, F_GETFD) < 0 && has_numbers(f, 0, LIVE_KEYS) &&
                            bloomfile_check(f) == 0;
        bloomfile_close(f);
        _exit(!has_it);
    }
    assert_child_succeeds(child);
}

static int rest_of(uint64_t keys)
{
    bloomfile_filter *f;
    struct bytes series = series_image(BLOOMFILE_LAYOUT_BLOCKED, keys);
    write_file("short", series.data, series.size);
    free(series.data);
    int rest;
    assert_error(opening_by_path(&f, "short", &(struct opening){ .flags = 0 }, &rest), 0);
    handle_close(f);
    assert_int_equal(unlink("short"), 0);
    return rest;
}

TEST(only_a_file_with_more_layers_is_kept_open)
{
    assert_int_equal(rest_of(100), -1);
    const int rest = rest_of(9000);
    assert_int_equal(close(rest), 0);
}

TEST(failed_madvise_hint_is_harmless)
{
    for (size_t o = 0; o < ROWS(openings); o++)
        if (openings[o] != open_live && openings[o] != open_series) /* forks rely on that call */
            assert_error(open_with(openings[o], from_then_on(ON_madvise, 1, EINVAL)), 0);
    assert_error(open_with(open_live, once(ON_madvise, 1, EINVAL)), 0);
}

TEST(filter_whose_path_cannot_be_looked_up_is_not_stale)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    static const int errors[] = { EACCES, EIO, ENOMEM };
    for (size_t i = 0; i < ROWS(errors); i++) {
        faults_begin(&(struct faults){ .call = ON_stat64, .nth = 1, .error = errors[i] });
        int stale = bloomfile_is_stale(f);
        faults_end();
        assert_int_equal(stale, 0);
    }
    bloomfile_close(f);
}

int main(void)
{
    return run_all(prepare, clean_up);
}
