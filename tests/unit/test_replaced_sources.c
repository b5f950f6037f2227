/* SPDX-License-Identifier: MIT
 * A filter is made from sources and replaces a source, but another process has replaced that
 * file first. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/header.h"
#include "interleave.h"
#include "os/host.h"

enum {
    OLD_KEYS = 3000, /* of the original file at the path */
    NEW_KEYS = 50,   /* of its replacement */
    SLICES_KEYS = 4000,
    SERIES_KEYS = 20, /* of the first layer */
};

static const char target[] = "target";
static bloomfile_filter *source, *more, *slices[2], *counting, *series;
static int patch, patch_of_series = -1;
static bool local;

static void make(const char *path, struct bloomfile_params params, uint64_t keys)
{
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, keys);
    assert_error(bloomfile_builder_write(b, TO_PATH(path, BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(b);
}

/* All have the same size, so only the file differs. */
static const struct bloomfile_params shape = { .struct_size = sizeof(struct bloomfile_params),
                                               .bits = 512 * 80,
                                               .hashes = 6 };

/* Restores the file at the path, and opens it. */
static void restore(void)
{
    bloomfile_close(source);
    make(target, shape, OLD_KEYS);
    source = opened(target, 0);
}

static void make_slices(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct bloomfile_params params = shape;
        params.bits = 4096 * 8 * 4;
        params.capacity = SLICES_KEYS;
        params.slice = i;
        params.slices = 2;
        make(i == 0 ? "slice" : target, params, SLICES_KEYS);
        slices[i] = opened(i == 0 ? "slice" : target, 0);
    }
}

static void make_patch(void)
{
    make("result", shape, OLD_KEYS + 10);
    bloomfile_filter *result = opened("result", 0);
    assert_error(bloomfile_delta(TO_PATH("patch", 0), source, result, 1), 0);
    bloomfile_close(result);
    patch = open("patch", O_RDONLY | O_CLOEXEC);
    assert_true(patch >= 0);
}

static void make_live_series(const char *path, uint64_t keys)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = SERIES_KEYS;
    params.series = BLOOMFILE_SERIES_GROW;
    assert_error(bloomfile_create(&f, path, &params, BLOOMFILE_TO_REPLACE), 0);
    add_digests_of(f, 0, keys);
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
}

static void make_one_layer(void)
{
    bloomfile_close(series);
    make_live_series(target, SERIES_KEYS);
    series = opened(target, 0);
}

static void seal_layers(const char *path, bloomfile_filter **sealed)
{
    bloomfile_filter *f = opened("layers", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(bloomfile_layers(f), 2);
    assert_error(bloomfile_copy_sealed(TO_PATH(path, BLOOMFILE_TO_REPLACE), f, NULL), 0);
    add_digests_of(f, ABSENT, ABSENT + 1);
    bloomfile_close(f);
    *sealed = opened(path, 0);
}

/* A sealed series, and its patch that adds a key. */
static void make_sealed_layers(void)
{
    bloomfile_filter *result;
    bloomfile_close(series);
    make_live_series("layers", 2 * SERIES_KEYS);
    seal_layers(target, &series);
    seal_layers("result", &result);
    assert_error(bloomfile_delta(TO_PATH("patch", BLOOMFILE_TO_REPLACE), series, result, 1), 0);
    bloomfile_close(result);
    close(patch_of_series);
    patch_of_series = open("patch", O_RDONLY | O_CLOEXEC);
    assert_true(patch_of_series >= 0);
    assert_error(bloomfile_unlink("layers"), 0);
}

static int prepare(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    const int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    local = filesystem_is_local(folder);
    close(folder);
    make("more", shape, 10);
    more = opened("more", 0);
    restore();
    make_patch();
    return 0;
}

static int clean_up(void **state)
{
    bloomfile_close(source);
    bloomfile_close(more);
    bloomfile_close(counting);
    bloomfile_close(slices[0]);
    bloomfile_close(slices[1]);
    bloomfile_close(series);
    source = more = counting = slices[0] = slices[1] = series = NULL;
    close(patch);
    close(patch_of_series);
    patch_of_series = -1;
    return leave_temp_dir(state);
}

/* ---- operations that replace their source */

static int unite(void)
{
    const bloomfile_filter *const all[] = { more, source };
    return bloomfile_merge(TO_PATH(target, BLOOMFILE_TO_REPLACE), all, 2, NULL);
}

static int fold(void)
{
    return bloomfile_fold(TO_PATH(target, BLOOMFILE_TO_REPLACE), source, 2, NULL);
}

static int copy(void)
{
    return bloomfile_copy_sealed(TO_PATH(target, BLOOMFILE_TO_REPLACE), source, NULL);
}

static int apply(void)
{
    assert_int_equal(lseek(patch, 0, SEEK_SET), 0);
    return bloomfile_patch(TO_PATH(target, BLOOMFILE_TO_REPLACE), source, FROM_FD(patch), 1);
}

static int join(void)
{
    return bloomfile_join(TO_PATH(target, BLOOMFILE_TO_REPLACE),
                          (const bloomfile_filter *const *)slices, 2, NULL, 0);
}

static int project(void)
{
    return bloomfile_project(TO_PATH(target, BLOOMFILE_TO_REPLACE), counting, NULL);
}

static void make_counting(void)
{
    struct bloomfile_params params = shape;
    params.layout = BLOOMFILE_LAYOUT_COUNTING;
    make(target, params, OLD_KEYS);
    counting = opened(target, 0);
}

static int copy_series(void)
{
    return bloomfile_copy_sealed(TO_PATH(target, BLOOMFILE_TO_REPLACE), series, NULL);
}

static int apply_to_series(void)
{
    assert_int_equal(lseek(patch_of_series, 0, SEEK_SET), 0);
    return bloomfile_patch(TO_PATH(target, BLOOMFILE_TO_REPLACE), series, FROM_FD(patch_of_series),
                           1);
}

static void nothing(void)
{
}

static const struct {
    int (*run)(void);
    void (*prepare)(void); /* puts its source at the path */
} ways[] = { { unite, nothing },
             { fold, nothing },
             { copy, nothing },
             { apply, nothing },
             { join, make_slices },
             { project, make_counting },
             { copy_series, make_one_layer },
             { copy_series, make_sealed_layers },
             { apply_to_series, make_sealed_layers } };

/* ---- actions of other processes */

static void replace(void)
{
    make("other", shape, NEW_KEYS);
    assert_int_equal(rename("other", target), 0);
}

static void remove_it(void)
{
    assert_int_equal(unlink(target), 0);
}

static void write_to_it(void)
{
    struct bytes image = read_file(target);
    wait_for_file_times();
    overwrite(target, 0, image.data, 1);
    free(image.data);
}

static void assert_kept(void)
{
    assert_filter_of(target, NEW_KEYS);
    assert_int_not_equal(access(".bloomfile.000000000000.tmp", F_OK), 0);
}

#define ALONE(test) TEST_WITH(test, prepare, clean_up)

ALONE(a_source_that_is_replaced_during_the_operation_is_kept)
{
    for (size_t i = 0; i < ROWS(ways); i++) {
        ways[i].prepare();
        assert_error(with_others(ways[i].run, ON_fsync, 1, replace), BLOOMFILE_EREPLACED);
        assert_kept();
        restore();
    }
}

ALONE(a_source_that_was_replaced_since_it_was_opened_is_kept)
{
    for (size_t i = 0; i < ROWS(ways); i++) {
        ways[i].prepare();
        replace();
        assert_error(ways[i].run(), BLOOMFILE_EREPLACED);
        assert_kept();
    }
}

/* Between the check of the file and the call that makes the temporary file. */
ALONE(a_source_that_is_replaced_at_the_start_is_kept)
{
    for (unsigned nth = 1; nth <= 3; nth++) {
        assert_error(with_others(unite, ON_fstatat64, nth, replace), BLOOMFILE_EREPLACED);
        assert_kept();
        restore();
    }
}

ALONE(unchanged_source_is_replaced)
{
    for (size_t i = 0; i < ROWS(ways); i++) {
        restore();
        ways[i].prepare();
        assert_error(ways[i].run(), 0);
    }
}

ALONE(destination_removed_or_written_to_is_not_replaced)
{
    assert_error(with_others(unite, ON_fsync, 1, write_to_it), BLOOMFILE_EREPLACED);
    assert_filter_of(target, OLD_KEYS);
    restore();
    assert_error(with_others(unite, ON_fsync, 1, remove_it), BLOOMFILE_EREPLACED);
    assert_int_not_equal(access(target, F_OK), 0);
}

static int unite_into_new(void)
{
    const bloomfile_filter *const all[] = { more, source };
    return bloomfile_merge(TO_PATH("new", BLOOMFILE_TO_REPLACE), all, 2, NULL);
}

static void make_new(void)
{
    make("new", shape, NEW_KEYS);
}

ALONE(a_destination_that_appears_is_kept)
{
    static const enum fault_call calls[] = { ON_fsync, ON_linkat };
    for (size_t i = 0; i < (has_unnamed_files() ? ROWS(calls) : 1); i++) {
        assert_error(with_others(unite_into_new, calls[i], 1, make_new), BLOOMFILE_EREPLACED);
        assert_filter_of("new", NEW_KEYS);
        assert_int_equal(unlink("new"), 0);
    }
    assert_error(unite_into_new(), 0);
    assert_error(unite_into_new(), 0);
}

/* ---- sources that are open for writing */

static void create_live(const char *path)
{
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, path, &shape, BLOOMFILE_TO_REPLACE), 0);
    bloomfile_close(f);
}

static int copy_over_target(const bloomfile_filter *f, bool in_child)
{
    if (!in_child)
        return bloomfile_copy_sealed(TO_PATH(target, BLOOMFILE_TO_REPLACE), f, NULL);
    const pid_t child = fork();
    if (child == 0)
        _exit(copy_over_target(f, false) == BLOOMFILE_EREPLACED ? 0 : 1);
    assert_child_succeeds(child);
    return BLOOMFILE_EREPLACED;
}

/* Keys added after the copy would be lost. */
ALONE(filter_open_for_writing_is_not_copied_over_its_own_file)
{
    for (unsigned i = 0; i < 8; i++) {
        const bool layer = (i & 1) != 0, unclean = (i & 2) != 0, in_child = (i & 4) != 0;
        if (layer)
            make_live_series(target, 0);
        else
            create_live(target);
        if (unclean)
            set_in_record(target, slot_in_force(target), RECORD_AT_boot_id, 8, 1);
        bloomfile_filter *f = opened(target, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
        assert_error(copy_over_target(f, in_child), BLOOMFILE_EREPLACED);
        assert_error(bloomfile_copy_sealed(TO_PATH(target, 0), f, NULL), EEXIST);
        add_digests_of(f, 0, 1);
        assert_error(bloomfile_finish(f), 0);
        bloomfile_close(f);
    }
}

/* ---- bloomfile_replace_only() */

static int copy_to_new(void)
{
    return bloomfile_copy_sealed(TO_PATH("new", BLOOMFILE_TO_REPLACE), source, NULL);
}

/* Only the second of the sources has the restriction. */
static int (*const into_new[])(void) = { copy_to_new, unite_into_new };

static void allow_new(void)
{
    const int fd = open("new", O_RDONLY | O_CLOEXEC);
    assert_error(bloomfile_replace_only(source, fd), 0);
    close(fd);
}

static void make_other(void)
{
    make("other", shape, NEW_KEYS);
    assert_int_equal(rename("other", "new"), 0);
}

ALONE(result_replaces_only_the_given_file)
{
    for (size_t i = 0; i < ROWS(into_new); i++) {
        make("new", shape, 10);
        allow_new();
        make_other();
        assert_error(into_new[i](), BLOOMFILE_EREPLACED);
        assert_filter_of("new", NEW_KEYS);
        allow_new();
        assert_error(into_new[i](), 0);
        allow_new();
        assert_error(with_others(into_new[i], ON_fsync, 1, make_other), BLOOMFILE_EREPLACED);
        assert_filter_of("new", NEW_KEYS);
        allow_new();
        assert_int_equal(unlink("new"), 0);
        assert_error(into_new[i](), BLOOMFILE_EREPLACED);
    }
}

ALONE(result_without_permission_to_replace_needs_a_free_name)
{
    for (size_t i = 0; i < ROWS(into_new); i++) {
        allow_new();
        make_new();
        assert_error(into_new[i](), BLOOMFILE_EREPLACED);
        assert_filter_of("new", NEW_KEYS);
        assert_int_equal(unlink("new"), 0);
        assert_error(into_new[i](), 0);
        assert_int_equal(unlink("new"), 0);
    }
}

ALONE(a_bad_descriptor_does_not_change_what_may_be_replaced)
{
    allow_new();
    const int fd = open(target, O_RDONLY | O_CLOEXEC);
    close(fd);
    assert_error(bloomfile_replace_only(source, fd), EBADF);
    make_new();
    assert_error(copy_to_new(), BLOOMFILE_EREPLACED);
}

ALONE(thread_without_permission_to_replace_needs_a_free_name)
{
    bloomfile_filter *f;
    make_new();
    assert_error(bloomfile_thread_replaces_only(-1), 0);
    assert_error(bloomfile_create(&f, "new", &shape, BLOOMFILE_TO_REPLACE), BLOOMFILE_EREPLACED);
    const int fd = open("new", O_RDONLY);
    assert_error(bloomfile_thread_replaces_only(fd), 0);
    close(fd);
    assert_error(bloomfile_create(&f, "free", &shape, BLOOMFILE_TO_REPLACE), BLOOMFILE_EREPLACED);
    assert_error(bloomfile_create(&f, "free", &shape, 0), 0); /* it replaces no file */
    bloomfile_close(f);
    assert_error(bloomfile_thread_replaces_only(BLOOMFILE_REPLACES_ANY), 0);
    assert_error(bloomfile_create(&f, "new", &shape, BLOOMFILE_TO_REPLACE), 0);
    bloomfile_close(f);
}

/* ---- the lock on the old file */

static int lock = -1;
static unsigned waits;

/* A process that waits for the lock sleeps here. */
int __wrap_poll(struct pollfd *fds, nfds_t count, int milliseconds);
int __wrap_poll(struct pollfd *fds, nfds_t count, int milliseconds)
{
    assert_true(fds == NULL && count == 0);
    waits += (unsigned)milliseconds;
    return 0;
}

static void let_go_after(void)
{
    replace();
    close(lock);
}

ALONE(waiter_sees_the_file_that_the_lock_holder_published)
{
    if (!local)
        skip("the file system is not local");
    lock = open(target, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
    assert_error(with_others(unite, ON_flock, 3, let_go_after), BLOOMFILE_EREPLACED);
    assert_kept();
}

static int build(void)
{
    return publish_filter(target, BLOOMFILE_TO_REPLACE, NEW_KEYS);
}

ALONE(lock_held_by_another_program_delays_a_merge)
{
    if (!local)
        skip("the file system is not local");
    lock = open(target, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_SH | LOCK_NB), 0);
    waits = 0;
    assert_error(unite(), 0);
    assert_int_equal(waits, 1000);
    assert_error(build(), 0); /* locks a file that has lost its name */
    assert_int_equal(waits, 1000);
    close(lock);
    assert_filter_of(target, NEW_KEYS);
}

static void restrict_thread(const char *path, struct faults faults)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    faults_begin(&faults);
    assert_error(bloomfile_thread_replaces_only(fd), 0);
    faults_end();
    close(fd);
}

static void restrict_thread_to(const char *path)
{
    restrict_thread(path, from_then_on(ON_open64, 1, ENOENT)); /* without /proc */
}

ALONE(restricted_replacement_waits_for_writers_of_a_live_file)
{
    static const unsigned long types[] = { 0, 0x65735546, 0x4D44 }; /* here; FUSE; vfat */
    struct flock records = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1 };
    for (unsigned live = 0; live < 2; live++) {
        if (live)
            create_live(target);
        lock = open(target, O_RDWR | O_CLOEXEC);
        assert_int_equal(fcntl(lock, F_OFD_SETLK, &records), 0);
        for (size_t i = 0; i < (live ? ROWS(types) : 1); i++) {
            restrict_thread_to(target);
            waits = 0;
            faults_begin(&(struct faults){ .file_system = types[i] });
            const int error = build();
            faults_end();
            assert_error(error, live ? EBUSY : 0);
            assert_int_equal(waits, live ? 1000 : 0);
        }
        close(lock);
        assert_error(bloomfile_thread_replaces_only(BLOOMFILE_REPLACES_ANY), 0);
    }
    assert_error(build(), 0);
}

static struct timespec times[2];

static void add_within_the_tick_to(const char *path)
{
    bloomfile_filter *f = opened(path, BLOOMFILE_OPEN_WRITE);
    assert_error(bloomfile_add_digest(f, number(0, 0), NULL), 0);
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void add_to_target(void)
{
    add_within_the_tick_to(target);
}

static void add_to_new(void)
{
    add_within_the_tick_to("new");
}

/* Some file systems have ticks of 2 s. */
ALONE(keys_added_to_a_live_file_are_noticed_if_its_time_does_not_change)
{
    create_live(target);
    assert_int_equal(utimensat(AT_FDCWD, target, times, 0), 0);
    restrict_thread_to(target);
    assert_error(with_others(build, ON_fsync, 1, add_to_target), BLOOMFILE_EREPLACED);
    assert_error(bloomfile_thread_replaces_only(BLOOMFILE_REPLACES_ANY), 0);
    create_live("new");
    assert_int_equal(utimensat(AT_FDCWD, "new", times, 0), 0);
    assert_error(with_others(unite_into_new, ON_fsync, 1, add_to_new), BLOOMFILE_EREPLACED);
    for (size_t i = 0; i < ROWS(into_new); i++) {
        restrict_thread_to("new");
        add_to_new();
        assert_error(into_new[i](), BLOOMFILE_EREPLACED);
        restrict_thread("new", once(ON_pread64, 1, EINVAL)); /* as with a descriptor of O_DIRECT */
        add_to_new();
        assert_error(into_new[i](), BLOOMFILE_EREPLACED);
    }
    restrict_thread_to("new");
    assert_error(copy_to_new(), 0);
    assert_error(copy_to_new(), BLOOMFILE_EREPLACED);
    /* replaces no file: */
    assert_error(bloomfile_copy_sealed(TO_PATH("free", 0), source, NULL), 0);
    assert_error(bloomfile_thread_replaces_only(BLOOMFILE_REPLACES_ANY), 0);
}

static bool looked;

static void look_at_new(enum fault_call call)
{
    struct stat new, open;
    if (call != ON_renameat && call != ON_renameat2)
        return;
    looked = true;
    assert_int_equal(stat("new", &new), 0);
    for (int fd = 0; fd < 100; fd++)
        if (fstat(fd, &open) == 0 && open.st_ino == new.st_ino)
            fail_msg("descriptor %d is of the file to be replaced", fd);
}

/* libfuse would rename it away before the new file gets its name. */
ALONE(file_to_be_replaced_is_not_open_without_a_lock)
{
    static const unsigned long types[] = { 0x65735546, 0x6969 }; /* FUSE, NFS */
    for (size_t i = 0; i < ROWS(types) * ROWS(into_new); i++) {
        make_new();
        looked = false;
        faults_begin(&(struct faults){ .file_system = types[i / 2], .at_each_call = look_at_new });
        const int error = into_new[i % 2]();
        faults_end();
        assert_error(error, 0);
        assert_true(looked);
    }
}

ALONE(build_replaces_any_file_at_the_path)
{
    assert_error(with_others(build, ON_fsync, 1, replace), 0);
    assert_error(with_others(build, ON_fsync, 1, remove_it), 0);
    assert_filter_of(target, NEW_KEYS);
}

int main(void)
{
    return run_all(NULL, NULL);
}
