/* SPDX-License-Identifier: MIT
 * Signals that are held back, and the wait for data that one ends. */
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "os/signals.h"

static volatile sig_atomic_t caught;

static void catch (int number)
{
    caught = number;
}

/* Takes it away from those that wait to be delivered. */
static void take(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    const struct timespec now = { 0, 0 };
    assert_int_equal(sigtimedwait(&set, NULL, &now), number);
}

static void new_pipe(int ends[2], bool full)
{
    assert_int_equal(pipe(ends), 0);
    if (full)
        assert_int_equal(write(ends[1], "x", 1), 1);
}

static void close_pipe(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

static void without_signals_held_nothing_is_waited_for(void **state)
{
    (void)state;
    int ends[2];
    new_pipe(ends, false);
    const struct signals s = { .held = false, .ending = ends[0] };
    assert_int_equal(signals_wait(&s, ends[0]), 0);
    close_pipe(ends);
    new_pipe(ends, true);
    assert_int_equal(s.ending, ends[0]);
    assert_false(signals_will_end(&s));
    close_pipe(ends);
}

static void data_ends_a_wait(void **state)
{
    (void)state;
    int ends[2];
    struct signals s = { .held = false };
    new_pipe(ends, true);
    assert_int_equal(signals_wait(&s, ends[0]), 0);
    signals_hold(&s);
    assert_false(signals_will_end(&s));
    assert_int_equal(signals_wait(&s, ends[0]), 0);
    signals_let_go(&s);
    close_pipe(ends);
}

static void so_does_a_signal_that_will_end_the_process(void **state)
{
    (void)state;
    static const int asking[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM };
    for (size_t i = 0; i < ROWS(asking); i++) {
        int ends[2];
        struct signals s;
        signal(asking[i], SIG_DFL); /* a shell's background job ignores some */
        new_pipe(ends, i % 2 == 0); /* it comes first */
        signals_hold(&s);
        assert_int_equal(raise(asking[i]), 0);
        assert_true(signals_will_end(&s));
        assert_int_equal(signals_wait(&s, ends[0]), EINTR);
        take(asking[i]);
        signals_let_go(&s);
        close_pipe(ends);
    }
}

static void one_that_is_handled_comes_later(void **state)
{
    (void)state;
    int ends[2];
    struct signals s;
    struct sigaction action = { .sa_handler = catch }, before;
    assert_int_equal(sigaction(SIGINT, &action, &before), 0);
    new_pipe(ends, true);
    signals_hold(&s);
    assert_int_equal(raise(SIGINT), 0);
    assert_false(signals_will_end(&s));
    assert_int_equal(signals_wait(&s, ends[0]), 0);
    assert_int_equal(caught, 0);
    signals_let_go(&s);
    assert_int_equal(caught, SIGINT);
    assert_int_equal(sigaction(SIGINT, &before, NULL), 0);
    close_pipe(ends);
}

static void one_that_the_caller_blocks_stays_blocked(void **state)
{
    (void)state;
    int ends[2];
    struct signals s;
    sigset_t set, before;
    signal(SIGTERM, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
    new_pipe(ends, true);
    signals_hold(&s);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(signals_wait(&s, ends[0]), 0);
    signals_let_go(&s);
    take(SIGTERM);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    close_pipe(ends);
}

/* Then read() waits, and signals wait for it. */
static void without_descriptors_only_data_is_waited_for(void **state)
{
    (void)state;
    int ends[2];
    struct signals s;
    struct rlimit all, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    none = (struct rlimit){ .rlim_cur = 1, .rlim_max = all.rlim_max };
    new_pipe(ends, true);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    signals_hold(&s);
    assert_int_equal(s.ending, -1);
    assert_int_equal(signals_wait(&s, ends[0]), 0); /* poll() refuses two */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
    assert_int_equal(signals_wait(&s, ends[0]), 0);
    signals_let_go(&s);
    close_pipe(ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_signals_held_nothing_is_waited_for),
        cmocka_unit_test(data_ends_a_wait),
        cmocka_unit_test(so_does_a_signal_that_will_end_the_process),
        cmocka_unit_test(one_that_is_handled_comes_later),
        cmocka_unit_test(one_that_the_caller_blocks_stays_blocked),
        cmocka_unit_test(without_descriptors_only_data_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
