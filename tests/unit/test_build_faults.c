/* SPDX-License-Identifier: MIT
 * Every system call and allocation of a builder with little memory fails once. Then the error is
 * returned, no digest is lost, and the builder can continue, except after a failed add. Or the
 * process is killed there, and no file remains. */
#include "support.h"

#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEYS  100000
#define BATCH 10000

static uint64_t digests[KEYS];
static struct bytes expected;
static uint64_t expected_keys = KEYS; /* present in the filter */
static struct bloomfile_params params = {
    .struct_size = sizeof params,
    .memory = 1 << 20,
    .spool = ".",
};

/* Without a memory limit. */
static struct bytes plainly_built(struct bloomfile_params p)
{
    p.memory = 0;
    bloomfile_builder *b = new_builder(p);
    assert_error(bloomfile_builder_add_digests(b, digests, KEYS), 0);
    assert_error(bloomfile_builder_count(b, &expected_keys), 0);
    struct bytes file = finish_file(b);
    bloomfile_builder_free(b);
    return file;
}

static int build_plainly(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    uint64_t random = 43;
    for (size_t i = 0; i < KEYS; i++)
        digests[i] = random64(&random);
    expected = plainly_built(params);
    return 0;
}

static int clean_up(void **state)
{
    free(expected.data);
    return leave_temp_dir(state);
}

/* The first error of all steps. A failed step is repeated without faults. After a failed add,
 * digests are missing, so the filter is begun again. */
static int first_error;
static size_t batch = BATCH;

static bool failed(int error)
{
    if (error == 0)
        return false;
    faults_end();
    assert_int_equal(first_error, 0);
    first_error = error;
    assert_int_equal(entries_in_dir(), 0);
    return true;
}

static void begin_anew(bloomfile_builder **b)
{
    uint64_t count;
    assert_error(bloomfile_builder_count(*b, &count), first_error);
    assert_error(bloomfile_builder_write(*b, TO_PATH("built", 0)), first_error);
    assert_int_equal(entries_in_dir(), 0);
    bloomfile_builder_free(*b);
    assert_error(bloomfile_builder_new(b, &params), 0);
}

static int run(struct faults faults)
{
    bloomfile_builder *b;
    size_t descriptors = open_descriptors();
    first_error = 0;
    faults_begin(&faults);
    if (failed(bloomfile_builder_new(&b, &params))) {
        assert_null(b);
        assert_error(bloomfile_builder_new(&b, &params), 0);
    }
    for (size_t at = 0; at < KEYS;) {
        const bool lacking = failed(bloomfile_builder_add_digests(b, digests + at, batch));
        if (lacking)
            begin_anew(&b);
        at = lacking ? 0 : at + batch;
    }
    uint64_t count = UINT64_MAX;
    if (failed(bloomfile_builder_count(b, &count))) {
        assert_int_equal(count, UINT64_MAX);
        assert_error(bloomfile_builder_count(b, &count), 0);
    }
    assert_int_equal(count, expected_keys);
    if (failed(bloomfile_builder_write(b, TO_PATH("built", 0))))
        assert_error(bloomfile_builder_write(b, TO_PATH("built", 0)), 0);
    faults_end();
    bloomfile_builder_free(b);
    assert_int_equal(open_descriptors(), descriptors);
    assert_file_holds("built", expected.data, expected.size);
    assert_int_equal(unlink("built"), 0);
    assert_int_equal(entries_in_dir(), 0);
    return first_error;
}

static const struct {
    enum fault_call call;
    int error;
} rows[] = {
    { ON_calloc, ENOMEM },   { ON_malloc, ENOMEM },  { ON_realloc, ENOMEM },  { ON_strdup, ENOMEM },
    { ON_openat64, EMFILE }, { ON_openat64, EROFS }, { ON_pwrite64, ENOSPC }, { ON_pwrite64, EIO },
    { ON_pread64, ENXIO }, /* EIO could also mean damage */
};

enum {
    ON_MEMORY = 3 /* this many rows */
};

TEST(each_failed_call_returns_its_error_and_loses_no_digest)
{
    const bool usual = params.layout == BLOOMFILE_LAYOUT_BLOCKED && params.slices == 0;
    const size_t tried = usual ? ROWS(rows) : ON_MEMORY;
    for (size_t i = 0; i < tried; i++) {
        assert_error(run((struct faults){ 0 }), 0);
        unsigned calls = fault_calls(rows[i].call);
        assert_true(calls > 0);
        for (unsigned nth = 1; nth <= calls; nth += 1 + nth / 8) {
            assert_error(run(once(rows[i].call, nth, rows[i].error)), rows[i].error);
            assert_error(run(from_then_on(rows[i].call, nth, rows[i].error)), rows[i].error);
        }
    }
}

/* Single digests are collected before they are written. */
TEST(failed_call_loses_no_digest_added_singly)
{
    batch = 1;
    each_failed_call_returns_its_error_and_loses_no_digest(state);
    batch = BATCH;
}

static void nor_one_of_another_filter(struct bloomfile_params other, void **state)
{
    struct bytes before = expected;
    struct bloomfile_params before_params = params;
    params = other;
    expected = plainly_built(params);
    each_failed_call_returns_its_error_and_loses_no_digest(state);
    free(expected.data);
    params = before_params;
    expected = before;
    expected_keys = KEYS;
}

static int count(bloomfile_builder *b, size_t n)
{
    uint64_t counted = UINT64_MAX;
    const int error = bloomfile_builder_count(b, &counted);
    assert_int_equal(counted, error == 0 ? n : UINT64_MAX);
    return error;
}

static int finish(bloomfile_builder *b, size_t n)
{
    const int error = bloomfile_builder_write(b, TO_PATH("built", 0));
    assert_int_equal(entries_in_dir(), error == 0);
    return error;
}

/* A single digest stays in memory until it is counted or written. */
TEST(failed_allocation_in_unlimited_memory_loses_no_digest)
{
    static const size_t numbers[] = { 1, KEYS };
    static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_RIBBON };
    int (*const steps[])(bloomfile_builder * b, size_t n) = { count, finish };
    for (size_t t = 0; t < ON_MEMORY * ROWS(numbers) * ROWS(layouts) * ROWS(steps); t++) {
        const enum fault_call call = rows[t % ON_MEMORY].call;
        const size_t n = numbers[t / ON_MEMORY % ROWS(numbers)];
        const size_t l = t / ON_MEMORY / ROWS(numbers) % ROWS(layouts);
        int (*const step)(bloomfile_builder * b, size_t n) =
            steps[t / ON_MEMORY / ROWS(numbers) / ROWS(layouts)];
        bloomfile_builder *b = new_builder((struct bloomfile_params){ .layout = layouts[l] });
        assert_error(bloomfile_builder_add_digests(b, digests, n), 0);
        int error = ENOMEM;
        for (unsigned nth = 1; error != 0; nth++) {
            const struct faults faults = once(call, nth, ENOMEM);
            faults_begin(&faults);
            error = step(b, n);
            faults_end();
            assert_error(error, fault_calls(call) >= nth ? ENOMEM : 0);
        }
        assert_error(count(b, n), 0);
        assert_error(bloomfile_builder_write(b, TO_PATH("built", BLOOMFILE_TO_REPLACE)), 0);
        assert_int_equal(unlink("built"), 0);
        bloomfile_builder_free(b);
    }
}

/* Solving pages takes memory too. */
TEST(failed_call_loses_no_digest_of_a_ribbon)
{
    struct bloomfile_params ribbon = params;
    ribbon.layout = BLOOMFILE_LAYOUT_RIBBON;
    nor_one_of_another_filter(ribbon, state);
}

/* The digests of a slice are spread over the whole while they are collected. */
TEST(failed_call_loses_no_digest_of_a_slice)
{
    struct bloomfile_params slice = params;
    slice.capacity = KEYS;
    slice.slices = 1;
    nor_one_of_another_filter(slice, state);
}

TEST(short_and_interrupted_transfers_are_continued)
{
    assert_error(run((struct faults){ .transfer_at_most = 30001 }), 0);
    assert_error(run(once(ON_pwrite64, 2, EINTR)), 0);
    assert_error(run(once(ON_pread64, 2, EINTR)), 0);
    assert_error(run(once(ON_openat64, 1, EINTR)), 0);
}

TEST(truncated_temporary_file_is_detected)
{
    assert_error(run((struct faults){ .file_ends_at = 100000 }), BLOOMFILE_ETRUNCATED);
}

TEST(without_unnamed_files_a_named_temporary_file_is_unlinked)
{
    static const int errors[] = { EOPNOTSUPP, EISDIR, EINVAL };
    for (size_t i = 0; i < ROWS(errors); i++)
        assert_error(run(once(ON_openat64, 1, errors[i])), 0);
    struct faults faults = once(ON_openat64, 1, EOPNOTSUPP);
    struct faults besides = once(ON_asprintf, 1, ENOMEM);
    faults.besides = &besides;
    assert_error(run(faults), ENOMEM);
}

/* The next file to be opened gets the descriptor number of the abandoned temporary file. */
TEST(temporary_file_that_cannot_be_unlinked_is_closed)
{
    struct faults faults = once(ON_openat64, 1, EOPNOTSUPP);
    struct faults besides = once(ON_unlinkat, 1, EIO);
    faults.besides = &besides;
    bloomfile_builder *b = new_builder(params);
    faults_begin(&faults);
    int error = bloomfile_builder_add_digests(b, digests, KEYS);
    faults_end();
    assert_error(error, EIO);
    int other = open("other", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    assert_true(other >= 0);
    assert_error(bloomfile_builder_add_digests(b, digests, KEYS), 0);
    bloomfile_builder_free(b);
    assert_int_equal(lseek(other, 0, SEEK_END), 0);
    assert_int_equal(close(other), 0);
    glob_t kept;
    assert_int_equal(glob(".bloomfile.*", 0, NULL, &kept), 0);
    assert_int_equal(kept.gl_pathc, 1);
    assert_int_equal(unlink(kept.gl_pathv[0]), 0);
    globfree(&kept);
    assert_int_equal(unlink("other"), 0);
}

/* The descriptor of the unnamed file. */
static int temporary_file(void)
{
    for (int fd = 3; fd < 100; fd++)
        if (has_no_name(fd))
            return fd;
    fail_msg("no unnamed file is open");
    return -1;
}

static void zero(uint8_t *page, size_t at)
{
    memset(page, 0, 4096);
}

static void flip(uint8_t *page, size_t at)
{
    page[at % 4096] ^= (uint8_t)(1u << at % 8);
}

static void shift(uint8_t *page, size_t at)
{
    memmove(page, page + 8, 4096 - 8);
}

static void assert_noticed(bloomfile_builder *b, int fd, size_t at,
                           void (*damage)(uint8_t *page, size_t at))
{
    uint8_t before[4096], page[4096];
    const off_t offset = (off_t)(at / 4096 * 4096);
    assert_int_equal(pread(fd, before, sizeof before, offset), sizeof before);
    memcpy(page, before, sizeof page);
    damage(page, at);
    assert_int_equal(pwrite(fd, page, sizeof page, offset), sizeof page);
    assert_error(bloomfile_builder_write(b, TO_PATH("built", 0)), EIO);
    assert_int_equal(entries_in_dir(), 0);
    assert_int_equal(pwrite(fd, before, sizeof before, offset), sizeof before);
}

/* Number and order of the digests stay the same, so only their sum shows the change. */
TEST(changed_digests_in_the_temporary_file_fail_the_count)
{
    bloomfile_builder *b = new_builder(params);
    uint64_t count = UINT64_MAX;
    uint8_t byte;
    assert_error(bloomfile_builder_add_digests(b, digests, KEYS), 0);
    const int fd = temporary_file();
    for (unsigned twice = 0; twice < 2; twice++) {
        assert_int_equal(pread(fd, &byte, 1, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 7 : 0), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 7 : 0), 1);
        assert_error(bloomfile_builder_count(b, &count), twice == 0 ? EIO : 0);
        assert_true(count == (twice == 0 ? UINT64_MAX : KEYS));
    }
    bloomfile_builder_free(b);
}

/* An asynchronous write error leaves such changes. */
TEST(corrupted_temporary_file_fails_the_build)
{
    static void (*const damages[])(uint8_t *, size_t) = { zero, flip, shift };
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_RIBBON; layout++) {
        for (unsigned sized = 0; sized < 2; sized++) {
            struct bloomfile_params p = params;
            p.layout = layout;
            p.capacity = sized * KEYS;
            p.threads = sized * 3;
            bloomfile_builder *b = new_builder(p);
            assert_error(bloomfile_builder_add_digests(b, digests, KEYS), 0);
            int fd = temporary_file();
            const size_t size = (size_t)lseek(fd, 0, SEEK_END);
            for (size_t at = 0; at + 4096 <= size; at += 40961)
                for (size_t i = 0; i < ROWS(damages); i++)
                    assert_noticed(b, fd, at, damages[i]);
            assert_error(bloomfile_builder_write(b, TO_PATH("built", 0)), 0);
            assert_int_equal(unlink("built"), 0);
            bloomfile_builder_free(b);
        }
    }
}

TEST(unusable_spool_folder_is_an_error)
{
    write_file("file", "", 0);
    static const struct {
        const char *folder;
        int error;
    } folders[] = { { "absent", ENOENT }, { "file", ENOTDIR }, { "file/in", ENOTDIR } };
    for (size_t i = 0; i < ROWS(folders); i++) {
        struct bloomfile_params p = params;
        p.spool = folders[i].folder;
        bloomfile_builder *b = new_builder(p);
        assert_error(bloomfile_builder_add_digests(b, digests, KEYS), folders[i].error);
        assert_error(bloomfile_builder_add_digests(b, digests, KEYS), folders[i].error);
        bloomfile_builder_free(b);
    }
    assert_int_equal(unlink("file"), 0);
}

/* A worker thread must not read it: the program may change it while the file is built. */
TEST(tmpdir_is_read_when_the_builder_is_created)
{
    char *before = getenv("TMPDIR");
    before = before != NULL ? strdup(before) : NULL;
    struct bloomfile_params p = params;
    p.spool = NULL;
    static const char *const folders[] = { ".", "", NULL }; /* "" and NULL mean /tmp */
    for (size_t i = 0; i < ROWS(folders); i++) {
        assert_int_equal(folders[i] != NULL ? setenv("TMPDIR", folders[i], 1) : unsetenv("TMPDIR"),
                         0);
        bloomfile_builder *b = new_builder(p);
        assert_int_equal(setenv("TMPDIR", "absent", 1), 0);
        assert_error(bloomfile_builder_add_digests(b, digests, KEYS), 0);
        bloomfile_builder_free(b);
    }
    assert_int_equal(before != NULL ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR"), 0);
    free(before);
}

TEST(caller_does_the_work_if_threads_cannot_start)
{
    params.threads = 4;
    for (unsigned nth = 1; nth <= 4; nth++)
        assert_error(run(from_then_on(ON_pthread_create, nth, EAGAIN)), 0);
    params.threads = 0;
}

/* A thread takes longer to start than a few keys take. */
TEST(few_keys_start_no_threads)
{
    static const struct {
        size_t keys;
        unsigned least, most; /* calls, over a few teams */
    } works[] = { { 0, 0, 0 }, { 1000, 0, 0 }, { KEYS, 5, 30 } };
    for (uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED; layout <= BLOOMFILE_LAYOUT_RIBBON; layout++) {
        for (size_t i = 0; i < ROWS(works); i++) {
            faults_begin(&(struct faults){ 0 });
            bloomfile_builder *b =
                new_builder((struct bloomfile_params){ .layout = layout, .threads = 1024 });
            assert_error(bloomfile_builder_add_digests(b, digests, works[i].keys), 0);
            assert_error(bloomfile_builder_write(b, TO_PATH("built", 0)), 0);
            faults_end();
            assert_in_range(fault_calls(ON_pthread_create), works[i].least, works[i].most);
            bloomfile_builder_free(b);
            assert_int_equal(unlink("built"), 0);
        }
    }
}

TEST(threads_are_started_only_if_two_are_allowed)
{
    for (uint32_t threads = 0; threads <= 2; threads++) {
        faults_begin(&(struct faults){ 0 });
        bloomfile_builder *b = new_builder((struct bloomfile_params){ .threads = threads });
        assert_error(bloomfile_builder_add_digests(b, digests, KEYS), 0);
        assert_error(bloomfile_builder_write(b, TO_PATH("built", 0)), 0);
        faults_end();
        assert_int_equal(fault_calls(ON_pthread_create) > 0, threads == 2);
        bloomfile_builder_free(b);
        assert_int_equal(unlink("built"), 0);
    }
}

/* ---- killed */

static unsigned until_kill;

static void kill_in_time(enum fault_call call)
{
    if (until_kill-- == 0)
        raise(SIGKILL);
}

static bool killed_at(unsigned call)
{
    pid_t child = fork();
    if (child == 0) {
        until_kill = call;
        run((struct faults){ .at_each_call = kill_in_time });
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST(killed_build_leaves_no_temporary_file)
{
    if (!has_unnamed_files())
        skip("the file system has no files without a name");
    unsigned call = 0;
    for (; killed_at(call); call += 1 + call / 16) {
        if (access("built", F_OK) == 0) {
            assert_file_holds("built", expected.data, expected.size);
            assert_int_equal(unlink("built"), 0);
        }
        assert_int_equal(entries_in_dir(), 0);
    }
    assert_true(call > 30);
}

int main(void)
{
    return run_all(build_plainly, clean_up);
}
