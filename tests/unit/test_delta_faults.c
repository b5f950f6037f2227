/* SPDX-License-Identifier: MIT
 * Patches without memory or disk space, and files that change during the operation: each is an
 * error and leaves no file. */
#include "live_support.h"

#include <bloomfile_delta.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/bytes.h"
#include "interleave.h"

enum {
    PAGES = 200, /* pages of a body: enough for several threads and several parts */
    SHARES = 3,  /* threads that can share this work */
};

static bloomfile_filter *base, *result; /* the files "base" and "result" */
static int patch_fd;                    /* turns base into result */

static void make_file(const char *path, uint32_t layout, uint64_t from, uint64_t to)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.bits = layout == BLOOMFILE_LAYOUT_COUNTING ? PAGES * 8192 : PAGES * 32768;
    params.hashes = 3;
    params.capacity = 40000;
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, from, to);
    assert_error(bloomfile_builder_write(b, TO_PATH(path, BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(b);
}

static void begin(uint32_t layout)
{
    make_file("base", layout, 0, 10000);
    make_file("result", layout, 5000, 25000);
    base = opened("base", 0);
    result = opened("result", 0);
    assert_error(bloomfile_delta(TO_PATH("patch", BLOOMFILE_TO_REPLACE), base, result, 1), 0);
    patch_fd = open("patch", O_RDONLY);
    assert_true(patch_fd >= 0);
}

static void end(void)
{
    bloomfile_close(base);
    bloomfile_close(result);
    close(patch_fd);
}

/* ---- the operations, with this many threads */

static int make(unsigned threads)
{
    return bloomfile_delta(TO_PATH("made", 0), base, result, threads);
}

static int apply(unsigned threads)
{
    assert_int_equal(lseek(patch_fd, 0, SEEK_SET), 0);
    return bloomfile_patch(TO_PATH("made", 0), base, FROM_FD(patch_fd), threads);
}

static int describe(unsigned threads)
{
    struct bloomfile_patch_info info = BLOOMFILE_PATCH_INFO_INIT;
    assert_int_equal(lseek(patch_fd, 0, SEEK_SET), 0);
    return bloomfile_get_patch_info(FROM_FD(patch_fd), &info);
}

static int (*const all[])(unsigned threads) = { make, apply, describe };

static int with(const struct faults *faults, int (*act)(unsigned threads), unsigned threads)
{
    faults_begin(faults);
    const int error = act(threads);
    faults_end();
    return error;
}

/* ---- calls that fail */

/* Each call to this function fails, once or from then on. */
static void try_all(enum fault_call call, int error, int (*act)(unsigned threads), unsigned threads)
{
    for (unsigned nth = 1;; nth++) {
        const struct faults faults[] = { once(call, nth, error), from_then_on(call, nth, error) };
        bool struck = false;
        for (size_t i = 0; i < ROWS(faults); i++) {
            const int got = with(&faults[i], act, threads);
            struck = fault_calls(call) >= nth;
            assert_error(got, struck ? error : 0);
            assert_int_equal(access("made", F_OK) == 0, got == 0 && act != describe);
            unlink("made");
        }
        if (!struck)
            return;
    }
}

TEST_IN_DIR(each_failed_call_fails_delta_and_patch)
{
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_COUNTING;
         layout++) {
        begin(layout);
        for (size_t i = 0; i < ROWS(all); i++)
            for (unsigned threads = 1; threads <= SHARES; threads += SHARES - 1) {
                try_all(ON_malloc, ENOMEM, all[i], threads);
                try_all(ON_calloc, ENOMEM, all[i], threads);
                try_all(ON_read, EIO, all[i], threads);
            }
        try_all(ON_pwrite64, ENOSPC, make, 1);
        try_all(ON_pwrite64, ENOSPC, make, SHARES);
        for (unsigned nth = 1; nth < 8; nth++)
            for (unsigned threads = 1; threads <= SHARES; threads += SHARES - 1) {
                const struct faults faults = from_then_on(ON_pwrite64, nth, ENOSPC);
                assert_error(with(&faults, apply, threads), ENOSPC);
                assert_int_equal(access("made", F_OK), -1);
            }
        end();
    }
}

TEST_IN_DIR(interrupted_read_is_repeated)
{
    begin(BLOOMFILE_LAYOUT_BLOCKED);
    struct bytes image = read_file("result");
    const struct faults none = { 0 };
    assert_error(with(&none, describe, 1), 0);
    const unsigned reads = fault_calls(ON_read);
    for (unsigned nth = 1; nth <= reads; nth++) {
        const struct faults interrupted = once(ON_read, nth, EINTR);
        assert_error(with(&interrupted, describe, 1), 0);
        assert_error(with(&interrupted, apply, 1), 0);
        assert_file_holds("made", image.data, image.size);
        unlink("made");
    }
    free(image.data);
    end();
}

/* The patch arrives slowly through a pipe with O_NONBLOCK. */
TEST_IN_DIR(patch_waits_for_a_slow_nonblocking_pipe)
{
    begin(BLOOMFILE_LAYOUT_BLOCKED);
    struct bytes patch = read_file("patch"), image = read_file("result");
    const size_t half = patch.size / 2;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        bool whole = falls_asleep(state_of(getppid(), getppid()), NULL) &&
                     write(ends[1], patch.data, half) == (ssize_t)half;
        whole &=
            falls_asleep(state_of(getppid(), getppid()), NULL) &&
            write(ends[1], patch.data + half, patch.size - half) == (ssize_t)(patch.size - half);
        _exit(!whole);
    }
    close(ends[1]);
    assert_error(bloomfile_patch(TO_PATH("made", 0), base, FROM_FD(ends[0]), 1), 0);
    assert_child_succeeds(child);
    close(ends[0]);
    assert_file_holds("made", image.data, image.size);
    assert_int_equal(unlink("made"), 0);
    free(patch.data);
    free(image.data);
    end();
}

TEST_IN_DIR(delta_and_patch_work_if_threads_cannot_start)
{
    begin(BLOOMFILE_LAYOUT_CLASSIC);
    for (unsigned nth = 1; nth < SHARES; nth++) {
        const struct faults faults = from_then_on(ON_pthread_create, nth, EAGAIN);
        struct bytes patch = read_file("patch"), image = read_file("result");
        assert_error(with(&faults, make, SHARES), 0);
        assert_file_holds("made", patch.data, patch.size);
        unlink("made");
        assert_error(with(&faults, apply, SHARES), 0);
        assert_file_holds("made", image.data, image.size);
        unlink("made");
        free(patch.data);
        free(image.data);
    }
    end();
}

/* The last byte was read; the read that would find the end of the file fails. */
TEST_IN_DIR(unreadable_end_of_the_patch_is_an_error)
{
    make_file("base", BLOOMFILE_LAYOUT_BLOCKED, 0, 10);
    base = opened("base", 0);
    assert_error(bloomfile_delta(TO_PATH("patch", BLOOMFILE_TO_REPLACE), base, base, 1), 0);
    patch_fd = open("patch", O_RDONLY);
    result = NULL;
    const struct faults second = once(ON_read, 2, EIO);
    assert_error(with(&second, apply, 1), EIO);
    assert_int_equal(fault_calls(ON_read), 2);
    assert_error(with(&second, describe, 1), EIO);
    assert_int_equal(access("made", F_OK), -1);
    end();
}

/* ---- files that another process writes to */

static struct {
    const char *path;
    enum fault_call call;
    unsigned left; /* calls before that */
    off_t at;      /* offset of the `size` bytes that are overwritten */
    size_t size;
} meanwhile;

static void write_meanwhile(enum fault_call call)
{
    if (call != meanwhile.call || meanwhile.left-- != 0)
        return;
    const int fd = open(meanwhile.path, O_RDWR);
    uint8_t *bytes = malloc(meanwhile.size);
    if (fd < 0 || bytes == NULL)
        abort();
    memset(bytes, 0xFF, meanwhile.size);
    if (pwrite(fd, bytes, meanwhile.size, meanwhile.at) != (ssize_t)meanwhile.size)
        abort();
    free(bytes);
    close(fd);
}

/* Overwrites these bytes of the file at the nth such call of `act`. */
static void assert_returns(int (*act)(unsigned threads), const char *path, enum fault_call call,
                           unsigned nth, off_t at, size_t size, int expected)
{
    begin(BLOOMFILE_LAYOUT_CLASSIC);
    meanwhile.path = path;
    meanwhile.call = call;
    meanwhile.left = nth - 1;
    meanwhile.at = at;
    meanwhile.size = size;
    const struct faults faults = { .at_each_call = write_meanwhile };
    wait_for_file_times();
    assert_error(with(&faults, act, 1), expected);
    assert_int_equal(access("made", F_OK), -1);
    end();
}

TEST_IN_DIR(inputs_changed_during_delta_or_patch_are_refused)
{
    enum {
        LABEL = 128, /* offset in the header */
    };
    static const char *const paths[] = { "base", "result" };
    for (size_t i = 0; i < ROWS(paths); i++) {
        /* Before the bodies are compared, before the head is written, before parts are written. */
        assert_returns(make, paths[i], ON_malloc, 1, LABEL, 8, BLOOMFILE_ECHANGED);
        assert_returns(make, paths[i], ON_openat64, 1, LABEL, 8, BLOOMFILE_ECHANGED);
        assert_returns(make, paths[i], ON_pwrite64, 1, LABEL, 8, BLOOMFILE_ECHANGED);
        assert_returns(make, paths[i], ON_pwrite64, 1, IN_FILE, PAGES * 4096, BLOOMFILE_ECHANGED);
    }
    /* Before the header is compared; after it, with and without the bytes behind the label. */
    assert_returns(apply, "base", ON_read, 1, LABEL, 8, BLOOMFILE_ECHANGED);
    assert_returns(apply, "base", ON_calloc, 1, LABEL, 8, BLOOMFILE_ECHANGED);
    assert_returns(apply, "base", ON_calloc, 1, LABEL, IN_FILE, BLOOMFILE_ECHANGED);
    assert_returns(apply, "base", ON_calloc, 1, IN_FILE, 64, BLOOMFILE_ECHANGED);
}

static const char *changed_path;

/* Changes the label when the patch is begun, and restores it when its head is written. */
static void change_label_for_a_while(enum fault_call call)
{
    static uint8_t label[8];
    const bool begins = call == ON_openat64 && fault_calls(call) == 0;
    const bool ends = call == ON_pwrite64 && fault_calls(call) == 0;
    if (!begins && !ends)
        return;
    const int fd = open(changed_path, O_RDWR);
    if (fd < 0 || (begins && pread(fd, label, sizeof label, 128) != sizeof label) ||
        pwrite(fd, begins ? "xxxxxxxx" : (const char *)label, sizeof label, 128) != sizeof label)
        abort();
    close(fd);
}

/* Otherwise the patch would name a header that neither file ever had with these bits. */
TEST_IN_DIR(inputs_changed_and_restored_during_delta_are_refused)
{
    static const char *const paths[] = { "base", "result" };
    const struct faults faults = { .at_each_call = change_label_for_a_while };
    for (size_t i = 0; i < ROWS(paths); i++) {
        begin(BLOOMFILE_LAYOUT_CLASSIC);
        changed_path = paths[i];
        assert_error(with(&faults, make, 1), BLOOMFILE_ECHANGED);
        assert_int_equal(access("made", F_OK), -1);
        end();
    }
}

/* ---- damage */

/* One thread finds it; the rest must stop. */
TEST_IN_DIR(all_threads_stop_at_first_bad_page)
{
    begin(BLOOMFILE_LAYOUT_BLOCKED);
    end();
    struct bytes image = read_file("base");
    image.data[IN_FILE + 100] ^= 1;
    write_file("base", image.data, image.size);
    base = opened("base", 0);
    result = opened("result", 0);
    patch_fd = open("patch", O_RDONLY);
    for (unsigned round = 0; round < 20; round++) {
        assert_error(apply(SHARES), BLOOMFILE_EPAGE);
        assert_error(make(SHARES), BLOOMFILE_EPAGE);
        assert_int_equal(access("made", F_OK), -1);
    }
    end();
    free(image.data);
}

/* The other layers must not be read. */
TEST_IN_DIR(series_with_a_damaged_first_layer_is_refused)
{
    struct bytes image = series_image(BLOOMFILE_LAYOUT_BLOCKED, 10000);
    image.data[IN_FILE] ^= 1;
    bloomfile_filter *f = open_image(image, 0);
    assert_error(bloomfile_delta(TO_PATH("made", 0), f, f, 1), BLOOMFILE_EPAGE);
    assert_int_equal(access("made", F_OK), -1);
    bloomfile_close(f);
    free(image.data);
}

static int make_with_threads(void)
{
    return make(SHARES);
}

static int apply_with_threads(void)
{
    return apply(SHARES);
}

static void remove_made(void)
{
    unlink("made");
}

TEST_IN_DIR(stop_at_any_call_leaves_no_temporary_file)
{
    begin(BLOOMFILE_LAYOUT_CLASSIC);
    stopped_at_any_call(make_with_threads, remove_made);
    stopped_at_any_call(apply_with_threads, remove_made);
    end();
}

int main(void)
{
    return run_all(NULL, NULL);
}
