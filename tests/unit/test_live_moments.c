/* SPDX-License-Identifier: MIT
 * Actions of other processes between two system calls of a writer: they leave, or replace the
 * file. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"

enum {
    WRITERS = 0,
    RECORDS = 1
};

/* ---- other writers leave */

static bloomfile_filter *last;

static void close_last(enum fault_call call)
{
    if (call == ON_unlock && last != NULL && lock_on_byte(outsider, RECORDS) == F_UNLCK) {
        bloomfile_close(last);
        last = NULL;
    }
}

#define ON_NEW_FILTER(test) TEST_WITH(test, begin_with_outsider, end_with_outsider)

/* L13. The second writer leaves as soon as the first one releases the lock of records. */
ON_NEW_FILTER(second_of_two_writers_that_close_marks_the_file_clean)
{
    bloomfile_filter *first = opened("filter", BLOOMFILE_OPEN_WRITE);
    last = opened("filter", BLOOMFILE_OPEN_WRITE);
    faults_begin(&(struct faults){ .at_each_call = close_last });
    bloomfile_close(first);
    faults_end();
    bloomfile_close(last);
    assert_flawless(flaw_of_clean_file("filter"));
    assert_int_equal(info_of_file("filter").keys_estimated, 0);
}

/* L13. */
ON_NEW_FILTER(writer_that_fails_to_join_does_not_keep_the_file_unclean)
{
    bloomfile_filter *f;
    last = opened("filter", BLOOMFILE_OPEN_WRITE);
    struct faults faults = once(ON_pwrite64, 1, EIO);
    faults.at_each_call = close_last;
    faults_begin(&faults);
    int error = bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE);
    faults_end();
    assert_error(error, EIO);
    bloomfile_close(last);
    assert_flawless(flaw_of_clean_file("filter"));
    assert_int_equal(info_of_file("filter").keys_estimated, 0);
}

static int fail_to_join(bloomfile_filter *inherited)
{
    struct faults faults = once(ON_pwrite64, 1, EIO);
    faults_begin(&faults);
    int error = bloomfile_add_digest(inherited, number(0, 500), NULL);
    faults_end();
    return error;
}

ON_NEW_FILTER(child_that_failed_to_join_does_not_block_a_seal)
{
    int ready[2], go[2];
    char byte;
    assert_int_equal(pipe(ready) | pipe(go), 0);
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        close(go[1]);
        bool failed = fail_to_join(f) == EIO && write(ready[1], "", 1) == 1;
        _exit(!failed || read(go[0], &byte, 1) != 0 ||
              bloomfile_add_digest(f, number(0, 500), NULL) != BLOOMFILE_ESEALED);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_error(bloomfile_seal(f, NULL), 0);
    close(go[1]);
    assert_child_succeeds(child);
    bloomfile_close(f);
    assert_flawless(flaw_of_sealed_file("filter"));
    close(ready[0]);
    close(go[0]);
}

static bloomfile_filter *inherited;
static pthread_t second;
static atomic_int second_id;
static atomic_bool second_started;

static void *add_as_second(void *nothing)
{
    second_id = (int)syscall(SYS_gettid);
    return (void *)(intptr_t)bloomfile_add_digest(inherited, number(0, 501), NULL);
}

/* Starts the second thread while the first one joins; the second thread must wait for that. */
static void have_a_second_thread_wait(enum fault_call call)
{
    if (call != ON_pwrite64 || atomic_exchange(&second_started, true))
        return;
    if (pthread_create(&second, NULL, add_as_second, NULL) != 0)
        _exit(1);
    while (second_id == 0)
        sched_yield();
    (void)falls_asleep(state_of(getpid(), second_id), NULL);
}

ON_NEW_FILTER(one_of_two_threads_of_a_child_joins_as_a_writer)
{
    inherited = opened("filter", BLOOMFILE_OPEN_WRITE);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        void *failed;
        faults_begin(&(struct faults){ .at_each_call = have_a_second_thread_wait });
        bool added = bloomfile_add_digest(inherited, number(0, 500), NULL) == 0;
        faults_end();
        added = added && pthread_join(second, &failed) == 0 && failed == NULL;
        const struct bloomfile_info info = info_of(inherited);
        _exit(!added || info.writers != 2 || info.keys_estimated != 0);
    }
    assert_child_succeeds(child);
    bloomfile_close(inherited);
}

/* The joining writer holds byte 0 already when the last writer leaves. */
ON_NEW_FILTER(no_count_is_lost_if_a_writer_joins_as_the_last_leaves)
{
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    add_digests_of(f, LIVE_KEYS, LIVE_KEYS + 20);
    assert_int_equal(lock_byte(outsider, F_RDLCK, WRITERS), 0);
    bloomfile_close(f);
    assert_int_equal(lock_byte(outsider, F_UNLCK, WRITERS), 0);
    f = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_int_equal(info_of(f).keys, LIVE_KEYS + 20);
    assert_int_equal(info_of(f).keys_estimated, 0);
    bloomfile_close(f);
    assert_flawless(flaw_of_clean_file("filter"));
}

/* ---- counts */

static bloomfile_filter *syncing;
static unsigned looks;

static void expect_all_keys(enum fault_call call)
{
    assert_int_equal(info_of(syncing).keys, LIVE_KEYS + 20);
    looks++;
}

/* The counts are in the record, with the handle, or on their way. */
ON_NEW_FILTER(info_has_all_keys_during_a_sync)
{
    syncing = opened("filter", BLOOMFILE_OPEN_WRITE);
    add_digests_of(syncing, LIVE_KEYS, LIVE_KEYS + 20);
    looks = 0;
    faults_begin(&(struct faults){ .at_each_call = expect_all_keys });
    int error = bloomfile_sync(syncing, NULL);
    faults_end();
    assert_error(error, 0);
    assert_true(looks > 5);
    expect_all_keys(ON_pwrite64);
    faults_begin(&(struct faults){
        .at_each_call = expect_all_keys, .call = ON_pwrite64, .nth = 2, .error = EIO });
    error = bloomfile_sync(syncing, NULL);
    faults_end();
    assert_error(error, EIO);
    expect_all_keys(ON_pwrite64);
    bloomfile_close(syncing);
}

/* ---- the file is replaced between open and lock */

static unsigned replacements_left;
static const char *replacement;

static void replace(enum fault_call call)
{
    if (call == ON_fcntl64 && replacements_left > 0) {
        replacements_left--;
        assert_int_equal(rename(replacement, "filter"), 0);
    }
}

static int open_while_replaced(bloomfile_filter **f, unsigned times,
                               void (*at_each_call)(enum fault_call))
{
    replacements_left = times;
    faults_begin(&(struct faults){ .at_each_call = at_each_call });
    int error = bloomfile_open(f, "filter", BLOOMFILE_OPEN_WRITE);
    faults_end();
    return error;
}

/* L4. */
ON_NEW_FILTER(writer_opens_the_file_that_replaced_its_path)
{
    replacement = "new";
    make_live("new", BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *f, *old = opened("filter", 0), *new = opened("new", 0);
    size_t descriptors = open_descriptors();
    assert_error(open_while_replaced(&f, 1, replace), 0);
    assert_int_equal(bloomfile_is_stale(f), 0);
    add_digests_of(f, 300, 310);
    assert_true(has_numbers(new, 300, 310));
    assert_false(has_numbers(old, 300, 301));
    assert_int_equal(info_of(old).writers, 0);
    bloomfile_close(f);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(lock_on_byte(outsider, WRITERS), F_UNLCK); /* the lock on the old file */
    bloomfile_close(old);
    bloomfile_close(new);
}

ON_NEW_FILTER(open_returns_esealed_if_a_sealed_file_replaces_the_live_file)
{
    replacement = "new";
    assert_error(publish_filter("new", 0, LIVE_KEYS), 0);
    bloomfile_filter *f;
    assert_error(open_while_replaced(&f, 1, replace), BLOOMFILE_ESEALED);
    assert_null(f);
}

static void remove_path(enum fault_call call)
{
    if (call == ON_fcntl64)
        unlink("filter");
}

ON_NEW_FILTER(removed_file_is_not_written_to)
{
    bloomfile_filter *f;
    assert_error(open_while_replaced(&f, 0, remove_path), ENOENT);
    assert_null(f);
    assert_int_equal(entries_in_dir(), 0);
}

static void replace_by_new_one(enum fault_call call)
{
    if (call == ON_stat64) {
        make_live("new", BLOOMFILE_LAYOUT_CLASSIC);
        assert_int_equal(rename("new", "filter"), 0);
    }
}

ON_NEW_FILTER(open_of_a_file_replaced_repeatedly_returns_ebusy)
{
    bloomfile_filter *f;
    size_t descriptors = open_descriptors();
    assert_error(open_while_replaced(&f, 0, replace_by_new_one), EBUSY);
    assert_null(f);
    assert_true(fault_calls(ON_stat64) >= 10);
    assert_int_equal(open_descriptors(), descriptors);
}

/* ---- keys are added while the filter is copied */

static bloomfile_filter *source;

static void add_key(enum fault_call call)
{
    if (call != ON_openat64 || source == NULL)
        return;
    assert_error(bloomfile_add_digest(source, number(0, ABSENT), NULL), 0);
    source = NULL;
}

static int seal_copy(const bloomfile_filter *f)
{
    return bloomfile_copy_sealed(TO_PATH("copy", BLOOMFILE_TO_REPLACE), f, NULL);
}

static int project_copy(const bloomfile_filter *f)
{
    return bloomfile_project(TO_PATH("copy", BLOOMFILE_TO_REPLACE), f, NULL);
}

static int merge_copy(const bloomfile_filter *f)
{
    return bloomfile_merge(TO_PATH("copy", BLOOMFILE_TO_REPLACE), &f, 1, NULL);
}

ON_NEW_FILTER(copy_made_during_adds_has_an_estimated_count)
{
    int (*const ways[])(const bloomfile_filter *f) = { seal_copy, project_copy, merge_copy };
    for (size_t i = 0; i < ROWS(ways); i++) {
        make_live("copied", BLOOMFILE_LAYOUT_COUNTING);
        bloomfile_filter *f = opened("copied", BLOOMFILE_OPEN_WRITE);
        assert_error(ways[i](f), 0);
        assert_int_equal(info_of_file("copy").keys_estimated, 0);
        assert_int_equal(info_of_file("copy").keys, info_of(f).keys);
        source = f;
        faults_begin(&(struct faults){ .at_each_call = add_key });
        assert_error(ways[i](f), 0);
        faults_end();
        assert_null(source);
        assert_int_equal(info_of_file("copy").keys_estimated, 1);
        bloomfile_close(f);
        assert_int_equal(unlink("copied"), 0);
    }
    assert_int_equal(unlink("copy"), 0);
}

int main(void)
{
    return run_all(NULL, NULL);
}
