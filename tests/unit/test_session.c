/* SPDX-License-Identifier: MIT
 * The counts of a process's threads on their way to a record, and the locks between the threads. */
#include "live_support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/records.h"
#include "live/session.h"

static struct session *session;

static int begin(void **state)
{
    return begin_with_outsider(state) != 0 || session_new(&session) != 0;
}

static int end(void **state)
{
    session_free(session);
    return end_with_outsider(state);
}

static void count(int64_t keys, int64_t ones, int64_t overflow)
{
    session_count(session, &(struct kernel_change){ keys, ones, overflow });
}

static void assert_counts(struct kernel_change got, int64_t keys, int64_t ones, int64_t overflow)
{
    assert_int_equal(got.keys, keys);
    assert_int_equal(got.ones, ones);
    assert_int_equal(got.overflow, overflow);
}

/* ---- counts */

enum {
    THREADS = 4 * SESSION_SHARDS,
    OFTEN = 300000,
};

static pthread_barrier_t all_have_counted;

static void *count_twice(void *nothing)
{
    count(1, 30, 200);
    count(1, 30, 200);
    pthread_barrier_wait(&all_have_counted); /* keeps all threads alive */
    return nothing;
}

static void many_threads_count(void)
{
    pthread_t threads[THREADS];
    assert_int_equal(pthread_barrier_init(&all_have_counted, NULL, THREADS), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_twice, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&all_have_counted);
}

#define WITH_SESSION(test) TEST_WITH(test, begin, end)

WITH_SESSION(counts_of_each_thread_are_taken_once)
{
    const int64_t all = INT64_C(2) * THREADS;
    for (unsigned round = 0; round < 3; round++) {
        many_threads_count();
        assert_counts(session_counted(session), all, 30 * all, 200 * all);
        assert_counts(session_take(session, round), all, 30 * all, 200 * all);
        session_taken(session, true);
        assert_counts(session_counted(session), 0, 0, 0);
    }
}

/* Own places are updated without locked instructions, so two threads in a place would lose
 * counts. */
WITH_SESSION(threads_do_not_share_a_shard_for_their_counts)
{
    int64_t own = 0, others = 0;
    many_threads_count();
    for (const struct session_shard *t = session->shards; t < session->shards + SESSION_SHARDS;
         t++) {
        assert_true(t->own.counts.keys == 0 || t->own.counts.keys == 2);
        assert_true((t->own.counts.keys != 0) == (t->owner != 0));
        own += t->own.counts.keys;
        others += t->others.counts.keys;
    }
    assert_true(own > 0);
    assert_int_equal(own + others, 2 * THREADS);
}

static void *count_often(void *nothing)
{
    for (unsigned i = 0; i < OFTEN; i++)
        count(1, 30, 200);
    return nothing;
}

/* There are more threads than places, and no thread owns its place. */
WITH_SESSION(threads_that_share_a_shard_lose_no_count)
{
    pthread_t threads[THREADS];
    const int64_t all = (int64_t)OFTEN * THREADS;
    for (unsigned i = 0; i < SESSION_SHARDS; i++)
        session->shards[i].owner = 1;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_often, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_counts(session_counted(session), all, 30 * all, 200 * all);
}

WITH_SESSION(each_kind_of_count_is_added_and_subtracted)
{
    count(1, 0, 0);
    count(0, 30, 0);
    count(0, 0, 200);
    assert_counts(session_counted(session), 1, 30, 200);
    count(-1, -30, -200);
    assert_counts(session_counted(session), 0, 0, 0);
}

/* Each kind of count is taken and given back alone. */
WITH_SESSION(counts_of_a_failed_commit_are_restored)
{
    static const struct kernel_change changes[] = {
        { 1, 0, 0 }, { 0, 30, 0 }, { 0, 0, 200 }, { -1, -30, -200 }, { 0, 0, 0 }
    };
    for (size_t i = 0; i < ROWS(changes); i++) {
        const struct kernel_change *c = &changes[i];
        session_count(session, c);
        assert_counts(session_take(session, 7), c->keys, c->ones, c->overflow);
        session_taken(session, false);
        assert_counts(session_counted(session), c->keys, c->ones, c->overflow);
        assert_counts(session_take(session, 8), c->keys, c->ones, c->overflow);
        session_taken(session, true);
        assert_counts(session_counted(session), 0, 0, 0);
    }
}

/* It lacks the counts that are on their way to the next record. */
WITH_SESSION(record_lacks_counts_taken_after_it)
{
    count(1, 30, 200);
    assert_counts(session_missing(session, 7), 1, 30, 200);
    session_take(session, 7);
    count(2, 40, 300);
    assert_counts(session_missing(session, 6), 3, 70, 500);
    assert_counts(session_missing(session, 7), 3, 70, 500);
    assert_counts(session_missing(session, 8), 2, 40, 300);
    session_taken(session, true);
    assert_counts(session_missing(session, 8), 2, 40, 300);
}

static bloomfile_filter *filter;

static void take_counts(void)
{
    session_take(filter->live->session, UINT64_MAX);
}

static void give_counts_back(void)
{
    session_taken(filter->live->session, false);
}

static void read_counts(void)
{
    info_of(filter);
}

struct task {
    void (*run)(void);
    atomic_int id;
    atomic_bool done;
};

static void *run_task(void *task)
{
    ((struct task *)task)->id = (int)syscall(SYS_gettid);
    ((struct task *)task)->run();
    ((struct task *)task)->done = true;
    return NULL;
}

/* Otherwise a reader would see them in both places, or in neither. */
WITH_SESSION(counts_are_moved_and_read_under_one_lock)
{
    struct task tasks[] = { { .run = take_counts },
                            { .run = give_counts_back },
                            { .run = read_counts } };
    filter = opened("filter", BLOOMFILE_OPEN_WRITE);
    for (size_t i = 0; i < ROWS(tasks); i++) {
        pthread_t thread;
        pthread_mutex_lock(&filter->live->session->counts);
        assert_int_equal(pthread_create(&thread, NULL, run_task, &tasks[i]), 0);
        while (tasks[i].id == 0)
            sched_yield();
        assert_true(falls_asleep(state_of(getpid(), tasks[i].id), &tasks[i].done));
        pthread_mutex_unlock(&filter->live->session->counts);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(tasks[i].done);
    }
    bloomfile_close(filter);
}

static void assert_added(struct record before, struct kernel_change counted, struct record expected)
{
    static const struct header h = { .m = 1000 };
    const struct record sum = live_add_counts(&h, before, &counted);
    assert_int_equal(sum.n, expected.n);
    assert_int_equal(sum.ones, expected.ones);
    assert_int_equal(sum.overflow, expected.overflow);
    assert_int_equal(sum.flags, expected.flags);
}

/* V30 sets the limits. A count that had to be changed to keep them is marked as an estimate. */
WITH_SESSION(counts_of_a_record_are_clamped_to_their_limits)
{
    const uint32_t estimate = RECORD_N_ESTIMATED;
    const struct record r = { .n = 5, .ones = 900, .overflow = 10 };
    assert_added(r, (struct kernel_change){ 0 }, r);
    assert_added(r, (struct kernel_change){ 1, 100, 990 },
                 (struct record){ .n = 6, .ones = 1000, .overflow = 1000 });
    assert_added(r, (struct kernel_change){ -5, -890, -10 }, (struct record){ .ones = 10 });
    assert_added(r, (struct kernel_change){ 0, 101, 0 },
                 (struct record){ .n = 5, .ones = 1000, .overflow = 10, .flags = estimate });
    assert_added(r, (struct kernel_change){ 0, 0, 891 },
                 (struct record){ .n = 5, .ones = 900, .overflow = 900, .flags = estimate });
    assert_added(r, (struct kernel_change){ -6, 0, 0 },
                 (struct record){ .ones = 900, .overflow = 10, .flags = estimate });
    assert_added(r, (struct kernel_change){ 0, -901, 0 },
                 (struct record){ .n = 5, .flags = estimate });
    assert_added(r, (struct kernel_change){ 0, -895, 0 },
                 (struct record){ .n = 5, .ones = 5, .overflow = 5, .flags = estimate });
    assert_added((struct record){ .n = UINT64_MAX }, (struct kernel_change){ 1, 0, 0 },
                 (struct record){ .n = UINT64_MAX, .flags = estimate });
}

/* ---- locks; busy means that another thread would wait */

static const uint64_t in_stripe_5 = UINT64_C(5) << 58, in_stripe_6 = UINT64_C(6) << 58;

static bool is_busy(pthread_mutex_t *mutex)
{
    const int error = pthread_mutex_trylock(mutex);
    if (error == 0)
        pthread_mutex_unlock(mutex);
    else
        assert_int_equal(error, EBUSY);
    return error != 0;
}

static bool keeps_out_who_wants_all(void)
{
    const int error = pthread_rwlock_trywrlock(&session->stripes);
    if (error == 0)
        pthread_rwlock_unlock(&session->stripes);
    else
        assert_int_equal(error, EBUSY);
    return error != 0;
}

static bool keeps_out_who_wants_one(void)
{
    const int error = pthread_rwlock_tryrdlock(&session->stripes);
    if (error == 0)
        pthread_rwlock_unlock(&session->stripes);
    else
        assert_int_equal(error, EBUSY);
    return error != 0;
}

/* L3. */
WITH_SESSION(holder_of_a_stripe_excludes_other_threads)
{
    const int fd = open("filter", O_RDWR | O_CLOEXEC);
    for (unsigned failing = 0; failing < 2; failing++) {
        const int error = failing ? EBADF : 0;
        assert_error(session_lock_stripe(session, failing ? -1 : fd, in_stripe_5), error);
        for (unsigned stripe = 0; stripe < LOCK_STRIPE_COUNT; stripe++) {
            const bool held = stripe == 5 && !failing;
            assert_int_equal(is_busy(&session->stripe[stripe]), held);
            assert_int_equal(lock_on_byte(outsider, LOCK_STRIPES + stripe),
                             held ? F_WRLCK : F_UNLCK);
        }
        assert_int_equal(keeps_out_who_wants_all(), !failing);
        assert_false(keeps_out_who_wants_one());
        if (!failing) {
            assert_error(session_lock_stripe(session, fd, in_stripe_6), 0);
            session_unlock_stripe(session, fd, in_stripe_6);
            session_unlock_stripe(session, fd, in_stripe_5);
        }
        assert_false(is_busy(&session->stripe[5]));
        assert_int_equal(lock_on_byte(outsider, LOCK_STRIPES + 5), F_UNLCK);
        assert_false(keeps_out_who_wants_all());
    }
    close(fd);
}

WITH_SESSION(holder_of_all_stripes_excludes_other_threads)
{
    const int fd = open("filter", O_RDWR | O_CLOEXEC);
    assert_error(session_lock_stripes(session, -1), EBADF);
    assert_false(keeps_out_who_wants_all());
    assert_error(session_lock_stripes(session, fd), 0);
    assert_true(keeps_out_who_wants_one());
    for (unsigned stripe = 0; stripe < LOCK_STRIPE_COUNT; stripe++)
        assert_int_equal(lock_on_byte(outsider, LOCK_STRIPES + stripe), F_WRLCK);
    session_unlock_stripes(session, fd);
    assert_false(keeps_out_who_wants_all());
    for (unsigned stripe = 0; stripe < LOCK_STRIPE_COUNT; stripe++)
        assert_int_equal(lock_on_byte(outsider, LOCK_STRIPES + stripe), F_UNLCK);
    close(fd);
}

WITH_SESSION(remover_excludes_other_threads)
{
    const int fd = open("filter", O_RDWR | O_CLOEXEC);
    assert_error(session_lock_removal(session, -1), EBADF);
    assert_false(is_busy(&session->removal));
    assert_error(session_lock_removal(session, fd), 0);
    assert_true(is_busy(&session->removal));
    assert_int_equal(lock_on_byte(outsider, LOCK_REMOVERS), F_WRLCK);
    assert_error(lock_wait(fd, LOCK_SYNCS, 1), 0);
    session_unlock_removal(session, fd);
    assert_int_equal(lock_on_byte(outsider, LOCK_SYNCS), F_WRLCK);
    assert_false(is_busy(&session->removal));
    assert_int_equal(lock_on_byte(outsider, LOCK_REMOVERS), F_UNLCK);
    close(fd);
}

int main(void)
{
    return run_all(NULL, NULL);
}
