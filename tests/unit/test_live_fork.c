/* SPDX-License-Identifier: MIT
 * Handles that a child inherits through fork(). */
#include "support.h"
#include "workers.h"

#include <bloomfile_live.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct bloomfile_params params = { .struct_size = sizeof params,
                                                .capacity = 100000,
                                                .fpr = 1e-9 };

static void add(bloomfile_filter *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
}

static void assert_has(const bloomfile_filter *f, uint64_t to)
{
    for (uint64_t i = 0; i < to; i++)
        assert_true(bloomfile_contains_digest(f, number(0, i)));
}

/* Calls run() in a child, with the inherited handle. */
static void in_a_child(bloomfile_filter *f, void (*run)(bloomfile_filter *f))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        run(f);
        _exit(0);
    }
    assert_child_succeeds(child);
}

static void add_more_and_close(bloomfile_filter *f)
{
    if (info_of(f).keys != 1000) /* only the parent counts the parent's keys */
        _exit(1);
    for (uint64_t i = 1000; i < 1500; i++)
        if (bloomfile_add_digest(f, number(0, i), NULL) != 0)
            _exit(2);
    if (info_of(f).writers != 2 || info_of(f).keys != 1500)
        _exit(3);
    bloomfile_close(f);
}

TEST_IN_DIR(a_child_s_adds_are_counted_once)
{
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "filter", &params, 0), 0);
    add(f, 0, 1000);
    assert_error(bloomfile_sync(f, NULL), 0);
    in_a_child(f, add_more_and_close);
    assert_int_equal(info_of(f).keys, 1500);
    assert_int_equal(info_of(f).writers, 1);
    bloomfile_close(f);
    assert_error(bloomfile_open(&f, "filter", 0), 0);
    assert_int_equal(info_of(f).keys, 1500);
    assert_int_equal(info_of(f).keys_estimated, 0);
    assert_has(f, 1500);
    bloomfile_close(f);
}

static void only_close(bloomfile_filter *f)
{
    bloomfile_close(f);
}

TEST_IN_DIR(child_does_not_commit_uncommitted_counts_of_its_parent)
{
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "filter", &params, 0), 0);
    add(f, 0, 700);
    in_a_child(f, only_close);
    assert_int_equal(info_of(f).keys, 700);
    assert_error(bloomfile_seal(f, NULL), 0); /* the child left no lock */
    assert_int_equal(info_of(f).keys, 700);
    bloomfile_close(f);
}

static void only_look(bloomfile_filter *f)
{
    if (!bloomfile_contains_digest(f, number(0, 5)) || bloomfile_check(f) != 0)
        _exit(1);
}

TEST_IN_DIR(a_child_that_only_looks_up_does_not_join)
{
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "filter", &params, 0), 0);
    add(f, 0, 10);
    in_a_child(f, only_look);
    assert_int_equal(info_of(f).writers, 1);
    bloomfile_close(f);
}

static void try_to_seal(bloomfile_filter *f)
{
    if (bloomfile_seal(f, NULL) != EBUSY)
        _exit(1);
}

TEST_IN_DIR(parent_and_child_are_two_writers)
{
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "filter", &params, 0), 0);
    in_a_child(f, try_to_seal);
    bloomfile_close(f);
}

static void wait_to_be_killed(bloomfile_filter *f)
{
    if (bloomfile_add_digest(f, 1, NULL) != 0)
        _exit(1);
    raise(SIGSTOP);
    _exit(2);
}

/* The child joined by an add: its mapping and its descriptor must not keep the parent's locks. */
TEST_IN_DIR(child_does_not_keep_the_locks_of_its_parent)
{
    int status;
    pid_t grandchild[2];
    assert_int_equal(pipe(grandchild), 0);
    pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        bloomfile_filter *f;
        if (bloomfile_create(&f, "filter", &params, 0) != 0)
            _exit(1);
        pid_t child = fork();
        if (child == 0)
            wait_to_be_killed(f);
        waitpid(child, &status, WUNTRACED);
        if (write(grandchild[1], &child, sizeof child) != sizeof child)
            _exit(2);
        raise(SIGKILL);
    }
    pid_t child;
    assert_int_equal(read(grandchild[0], &child, sizeof child), sizeof child);
    assert_int_equal(waitpid(parent, &status, 0), parent);
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE), 0);
    assert_error(bloomfile_seal(f, NULL), EBUSY); /* the child is still a writer */
    assert_int_equal(kill(child, SIGKILL), 0);
    int error;
    alarm(60);
    while (error = bloomfile_seal(f, NULL), error == EBUSY)
        usleep(1000);
    alarm(0);
    assert_error(error, 0);
    assert_int_equal(info_of(f).keys_estimated, 1);
    bloomfile_close(f);
    close(grandchild[0]);
    close(grandchild[1]);
}

static int add_thousand(bloomfile_filter *f, unsigned worker, void *context)
{
    for (uint64_t i = 0; i < 1000; i++)
        if (bloomfile_add_digest(f, number(0, worker * 1000 + i), NULL) != 0)
            return 1;
    return 0;
}

TEST_IN_DIR(a_pool_of_children_shares_a_filter_in_memory)
{
    bloomfile_filter *f;
    assert_error(bloomfile_create_memory(&f, &params, 0), 0);
    for (unsigned exact = 0; exact < 2; exact++) {
        workers_run(&(struct workers){
            .processes = 4, .threads = 2, .inherited = f, .work = add_thousand });
        assert_int_equal(info_of(f).keys, 8000);
        assert_int_equal(info_of(f).writers, 1);
        assert_has(f, 8000);
    }
    bloomfile_close(f);
}

int main(void)
{
    return run_all(NULL, NULL);
}
