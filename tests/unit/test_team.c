/* SPDX-License-Identifier: MIT
 * A team runs its threads concurrently, and only the caller takes signals. */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "os/thread.h"

struct muster {
    pthread_t caller;
    pthread_barrier_t all_there;
    atomic_uint others, blocked, open_to_own;
};

static void report(void *context)
{
    struct muster *m = context;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (!pthread_equal(pthread_self(), m->caller)) {
        m->others++;
        m->blocked += sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGUSR1) == 1;
        m->open_to_own += sigismember(&mask, SIGBUS) == 0 && sigismember(&mask, SIGSEGV) == 0 &&
                          sigismember(&mask, SIGPIPE) == 0;
    }
    pthread_barrier_wait(&m->all_there);
}

TEST(team_runs_all_threads_and_only_the_caller_takes_signals)
{
    static const struct {
        unsigned asked, working;
    } rows[] = { { 0, 1 }, { 1, 1 }, { 2, 2 }, { 7, 7 }, { 100, 100 } };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct muster m = { .caller = pthread_self() };
        assert_int_equal(pthread_barrier_init(&m.all_there, NULL, rows[i].working), 0);
        team_run(rows[i].asked, report, &m);
        assert_int_equal(m.others, rows[i].working - 1);
        assert_int_equal(m.blocked, m.others);
        assert_int_equal(m.open_to_own, m.others);
        pthread_barrier_destroy(&m.all_there);
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        assert_int_equal(sigismember(&mask, SIGINT), 0);
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
