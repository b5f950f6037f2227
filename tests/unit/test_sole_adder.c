/* SPDX-License-Identifier: MIT
 * Writers that add to a file alone, by stores of whole words (doc/format/live.md 5, "Sole adders"):
 * until they leave, or in turns of one batch. */
#include "live_support.h"

#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "workers.h"

enum {
    WRITERS = 0, /* the specification's number of this byte */
    SOLE = BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_SOLE_ADDER,
    TURNS = BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ONE_THREAD,
    KEYS = 2000,
};

static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                    BLOOMFILE_LAYOUT_COUNTING };

/* A refused writer retries for a second. Most tests skip its sleeps. */
static atomic_uint naps;
static atomic_bool sleeps;

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    (void)clock;
    (void)flags;
    atomic_fetch_add(&naps, 1);
    return atomic_load(&sleeps) ? nanosleep(time, left) : 0;
}

/* If `step` is not 0, each read of the clock returns a time this much later, and `looks` records
 * the state of the lock. */
static uint64_t step, clock_now;
static char looks[100];
static unsigned look_count;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (step == 0 || clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, time);
    if (look_count < sizeof looks - 1)
        looks[look_count++] = lock_on_byte(outsider, WRITERS) == F_WRLCK ? 'x' : '.';
    clock_now += step;
    *time = (struct timespec){ .tv_sec = (time_t)(clock_now / 1000000000),
                               .tv_nsec = (long)(clock_now % 1000000000) };
    return 0;
}

static void assert_refused(unsigned flags)
{
    bloomfile_filter *f = (void *)&f;
    assert_error(bloomfile_open(&f, "filter", flags), EBUSY);
    assert_null(f);
}

/* Returns whether a writer could join. */
static bool is_free(void)
{
    return lock_on_byte(outsider, WRITERS) == F_UNLCK;
}

static int begin(void **state)
{
    if (enter_temp_dir(state) != 0)
        return -1;
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    outsider = open("filter", O_RDWR | O_CLOEXEC);
    return outsider < 0;
}

#define ON_NEW_FILTER(test) TEST_WITH(test, begin, end_with_outsider)

/* ---- its adds */

static void add_in_all_ways(bloomfile_filter *f)
{
    bloomfile_digest digests[KEYS];
    for (uint64_t i = 0; i < KEYS; i++)
        digests[i] = number(0, i);
    for (uint64_t i = 0; i < KEYS / 2; i++)
        assert_error(bloomfile_add_digest(f, digests[i], NULL), 0);
    assert_error(bloomfile_add_digests(f, digests, KEYS, NULL, NULL, NULL), 0);
}

TEST_IN_DIR(sole_adder_makes_the_same_file_as_a_shared_adder)
{
    for (size_t i = 0; i < ROWS(layouts); i++) {
        struct bloomfile_params params = live_params(layouts[i]);
        struct bytes files[2];
        for (unsigned sole = 0; sole < 2; sole++) {
            bloomfile_filter *f;
            const unsigned flags = BLOOMFILE_TO_REPLACE | BLOOMFILE_OPEN_OVER_CAPACITY;
            assert_error(bloomfile_create(&f, "filter", &params,
                                          flags | (sole ? BLOOMFILE_OPEN_SOLE_ADDER : 0)),
                         0);
            add_in_all_ways(f);
            assert_error(bloomfile_seal(f, NULL), 0);
            bloomfile_close(f);
            files[sole] = read_file("filter");
        }
        assert_int_equal(files[0].size, files[1].size);
        assert_memory_equal(files[0].data, files[1].data, files[0].size);
        free(files[0].data);
        free(files[1].data);
    }
}

ON_NEW_FILTER(a_reader_finds_what_a_sole_adder_has_added)
{
    bloomfile_filter *f = opened("filter", SOLE), *reader = opened("filter", 0);
    for (uint64_t i = 0; i < KEYS; i++) {
        bool was_new;
        assert_error(bloomfile_add_digest(f, number(1, i), &was_new), 0);
        assert_true(bloomfile_contains_digest(reader, number(1, i)));
        assert_int_equal(bloomfile_add_digest(f, number(1, i), &was_new), 0);
        assert_false(was_new);
    }
    assert_error(bloomfile_sync(f, NULL), 0);
    assert_error(bloomfile_check(reader), 0);
    bloomfile_close(reader);
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
    assert_flawless(flaw_of_clean_file("filter"));
}

/* ---- exclusion of other writers */

ON_NEW_FILTER(a_sole_adder_excludes_writers_until_it_leaves)
{
    bloomfile_filter *f = opened("filter", SOLE);
    assert_int_equal(lock_on_byte(outsider, WRITERS), F_WRLCK);
    assert_refused(BLOOMFILE_OPEN_WRITE);
    assert_refused(SOLE);
    assert_int_equal(info_of(f).writers, 1);
    assert_error(bloomfile_finish(f), 0);
    assert_true(is_free());
    bloomfile_close(opened("filter", BLOOMFILE_OPEN_WRITE));
    bloomfile_close(f);
}

ON_NEW_FILTER(sole_adder_is_refused_next_to_another_writer)
{
    bloomfile_filter *other = opened("filter", BLOOMFILE_OPEN_WRITE);
    assert_refused(SOLE);
    assert_error(bloomfile_add_digest(other, number(1, 1), NULL), 0);
    bloomfile_close(other);
    assert_true(is_free());
    bloomfile_close(opened("filter", SOLE));
    assert_flawless(flaw_of_clean_file("filter"));
}

/* A traditional POSIX lock of the process would end then. */
ON_NEW_FILTER(a_sole_adder_keeps_its_lock_if_the_application_closes_descriptors)
{
    bloomfile_filter *f = opened("filter", SOLE);
    for (int fd = 3; fd < 1024; fd++)
        close(fd == outsider ? -1 : fd);
    assert_int_equal(lock_on_byte(outsider, WRITERS), F_WRLCK);
    assert_refused(BLOOMFILE_OPEN_WRITE);
    bloomfile_close(f);
    assert_true(is_free());
}

ON_NEW_FILTER(a_failed_seal_leaves_the_lock_exclusive)
{
    bloomfile_filter *f = opened("filter", SOLE);
    struct faults faults = once(ON_msync, 1, EIO);
    faults_begin(&faults);
    assert_int_not_equal(bloomfile_seal(f, NULL), 0);
    faults_end();
    assert_int_equal(lock_on_byte(outsider, WRITERS), F_WRLCK);
    bloomfile_close(f);
    assert_true(is_free());
}

ON_NEW_FILTER(a_sole_adder_that_cannot_lock_leaves_nothing_behind)
{
    const size_t descriptors = open_descriptors(), mapped = mapped_files();
    const enum fault_call calls[] = { ON_mmap64, ON_madvise };
    for (size_t i = 0; i < ROWS(calls); i++)
        for (unsigned nth = 1; nth < 10; nth++) {
            bloomfile_filter *f;
            struct faults faults = once(calls[i], nth, ENOMEM);
            faults_begin(&faults);
            const int error = bloomfile_open(&f, "filter", SOLE);
            const bool failed = fault_calls(calls[i]) >= nth;
            faults_end();
            if (error == 0)
                bloomfile_close(f);
            assert_true(error == 0 || failed);
            assert_true(is_free());
            assert_int_equal(open_descriptors(), descriptors);
            assert_int_equal(mapped_files(), mapped);
        }
}

TEST_IN_DIR(a_series_in_files_has_no_sole_adder)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = 1000;
    params.series = BLOOMFILE_SERIES_GROW;
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "filter", &params, BLOOMFILE_OPEN_SOLE_ADDER),
                 BLOOMFILE_EISSERIES);
    assert_int_equal(entries_in_dir(), 0);
    assert_error(bloomfile_create(&f, "filter", &params, 0), 0);
    bloomfile_close(f);
    assert_error(bloomfile_open(&f, "filter", SOLE), BLOOMFILE_EISSERIES);
    bloomfile_close(opened("filter", BLOOMFILE_OPEN_WRITE));
}

/* ---- children */

/* Makes a sole adder and a child of it, which calls `child`; kills the adder. Returns the child. */
static pid_t killed_with_a_child(bool by_fork, void (*child)(bloomfile_filter *f))
{
    int status, ends[2];
    pid_t grandchild = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        bloomfile_filter *f;
        if (bloomfile_open(&f, "filter", SOLE) != 0 ||
            bloomfile_add_digest(f, number(1, 7), NULL) != 0)
            _exit(1);
        grandchild = by_fork ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (grandchild == 0) {
            alarm(60);
            child(f);
            _exit(0);
        }
        waitpid(grandchild, &status, WUNTRACED);
        if (write(ends[1], &grandchild, sizeof grandchild) != sizeof grandchild)
            _exit(2);
        raise(SIGKILL);
    }
    assert_int_equal(read(ends[0], &grandchild, sizeof grandchild), sizeof grandchild);
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_true(WIFSIGNALED(status));
    close(ends[0]);
    close(ends[1]);
    return grandchild;
}

static void stop(bloomfile_filter *f)
{
    (void)f;
    raise(SIGSTOP);
}

/* The child comes from fork(), or from a call that skips its handlers. */
ON_NEW_FILTER(a_child_that_outlives_a_sole_adder_blocks_no_writer)
{
    for (int by_fork = 0; by_fork < 2; by_fork++) {
        const pid_t child = killed_with_a_child(by_fork, stop);
        assert_true(is_free());
        bloomfile_filter *f = opened("filter", SOLE);
        assert_true(bloomfile_contains_digest(f, number(1, 7)));
        assert_int_equal(info_of(f).keys_estimated, 1);
        bloomfile_close(f);
        assert_int_equal(kill(child, SIGKILL), 0);
    }
}

ON_NEW_FILTER(child_adds_only_after_its_parent_has_closed)
{
    bloomfile_filter *f = opened("filter", SOLE);
    int ends[2], status;
    char byte;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        bool right = bloomfile_add_digest(f, number(1, 1), NULL) == EBUSY &&
                     bloomfile_contains_digest(f, number(0, 0));
        raise(SIGSTOP);
        right = right && read(ends[0], &byte, 1) == 1 &&
                bloomfile_add_digest(f, number(1, 1), NULL) == 0;
        bloomfile_close(f);
        _exit(!right);
    }
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_error(bloomfile_add_digest(f, number(1, 2), NULL), 0);
    bloomfile_close(f);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_child_succeeds(child);
    close(ends[0]);
    close(ends[1]);
    f = opened("filter", 0);
    assert_int_equal(info_of(f).keys, LIVE_KEYS + 2);
    assert_true(bloomfile_contains_digest(f, number(1, 1)));
    assert_true(bloomfile_contains_digest(f, number(1, 2)));
    bloomfile_close(f);
}

/* ---- turns */

static bool held_exclusively, watches;
static bloomfile_digest batch[10000];

/* Runs before each call of the library; the call that ends a turn sees the lock. */
static void look_at_lock(enum fault_call call)
{
    held_exclusively |= call == ON_fcntl64 && lock_on_byte(outsider, WRITERS) == F_WRLCK;
}

/* Adds the first n digests of the batch. Returns whether a turn was seen. */
static bool takes_a_turn(bloomfile_filter *f, size_t n)
{
    for (size_t i = 0; i < ROWS(batch); i++)
        batch[i] = number(3, i);
    struct faults faults = { .at_each_call = look_at_lock };
    held_exclusively = false;
    faults_begin(&faults);
    assert_error(bloomfile_add_digests(f, batch, n, NULL, NULL, NULL), 0);
    faults_end();
    assert_int_equal(lock_on_byte(outsider, WRITERS), F_RDLCK);
    assert_int_equal(bloomfile_contains_digests(f, batch, n, NULL), n);
    return held_exclusively;
}

/* No turn follows a slow batch, and any batch may be slow on a busy machine. */
static void assert_takes_turns(bloomfile_filter *f, size_t n)
{
    unsigned tries = 0;
    while (!takes_a_turn(f, n) && tries < 1000)
        tries++;
    assert_true(tries < 1000);
}

ON_NEW_FILTER(batch_of_the_only_writer_runs_as_one_turn)
{
    const unsigned exact = BLOOMFILE_OPEN_ADD_EXACT, over = BLOOMFILE_OPEN_OVER_CAPACITY;
    for (unsigned i = 0; i < 2; i++) {
        bloomfile_filter *f = opened("filter", TURNS | over | (i == 1 ? exact : 0));
        assert_false(takes_a_turn(f, 100)); /* it is not yet known whether its disk is fast */
        assert_takes_turns(f, 100);
        assert_takes_turns(f, ROWS(batch));
        assert_false(takes_a_turn(f, 10));
        bloomfile_filter *other = opened("filter", BLOOMFILE_OPEN_WRITE);
        for (unsigned tries = 0; tries < 5; tries++)
            assert_false(takes_a_turn(f, ROWS(batch)) || takes_a_turn(other, 100));
        bloomfile_close(other);
        assert_takes_turns(f, 100);
        bloomfile_close(f);
    }
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    for (unsigned tries = 0; tries < 5; tries++)
        assert_false(takes_a_turn(f, 100));
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
}

/* Adds batches until the hook has seen a turn. */
static void add_until_watched(bloomfile_filter *f, void (*hook)(enum fault_call call))
{
    struct faults faults = { .at_each_call = hook };
    watches = true;
    for (unsigned tries = 0; watches && tries < 1000; tries++) {
        faults_begin(&faults);
        const int error = bloomfile_add_digests(f, batch, 1000, NULL, NULL, NULL);
        faults_end();
        assert_error(error, 0);
    }
    assert_false(watches);
}

static void *open_for_writing(void *f)
{
    const int error = bloomfile_open(f, "filter", BLOOMFILE_OPEN_WRITE);
    return (void *)(intptr_t)error;
}

static pthread_t joiner;
static bloomfile_filter *joined;

/* Runs at the end of the turn. */
static void let_another_join(enum fault_call call)
{
    if (!watches || call != ON_fcntl64 || lock_on_byte(outsider, WRITERS) != F_WRLCK)
        return;
    watches = false;
    atomic_store(&naps, 0);
    assert_int_equal(pthread_create(&joiner, NULL, open_for_writing, &joined), 0);
    while (atomic_load(&naps) < 3)
        sched_yield();
}

ON_NEW_FILTER(a_writer_that_joins_waits_for_the_end_of_a_turn)
{
    bloomfile_filter *f = opened("filter", TURNS);
    void *error;
    atomic_store(&sleeps, true);
    add_until_watched(f, let_another_join);
    assert_int_equal(pthread_join(joiner, &error), 0);
    assert_error((int)(intptr_t)error, 0);
    atomic_store(&sleeps, false);
    bloomfile_close(joined);
    bloomfile_close(f);
}

/* Each stretch takes 10 ms, by the clock of this test. Between turns there is a gap, in which
 * another writer can join. */
ON_NEW_FILTER(long_batch_lets_other_writers_join)
{
    enum {
        STRETCHES = 30,
        STRETCH = 8192
    };
    static bloomfile_digest digests[STRETCHES * STRETCH];
    for (size_t i = 0; i < ROWS(digests); i++)
        digests[i] = number(3, i);
    bloomfile_filter *f = opened("filter", TURNS | BLOOMFILE_OPEN_OVER_CAPACITY);
    clock_now = 1000000000;
    look_count = 0;
    memset(looks, 0, sizeof looks);
    step = 10000000;
    assert_error(bloomfile_add_digests(f, digests, ROWS(digests), NULL, NULL, NULL), 0);
    step = 0;
    assert_string_equal(looks, "..xxxxxxxxxx.xxxxxxxxxx.xxxxxxx");
    bloomfile_close(f);
}

static void *fork_and_look(void *status)
{
    const pid_t child = fork();
    if (child == 0)
        _exit(lock_on_byte(outsider, WRITERS) != F_RDLCK);
    *(int *)status = child > 0 && waitpid(child, status, 0) == child ? *(int *)status : -1;
    return NULL;
}

static pthread_t forker;
static int forked = -1;

static void let_another_fork(enum fault_call call)
{
    if (!watches || call != ON_fcntl64 || lock_on_byte(outsider, WRITERS) != F_WRLCK)
        return;
    watches = false;
    assert_int_equal(pthread_create(&forker, NULL, fork_and_look, &forked), 0);
    for (unsigned i = 0; i < 1000; i++)
        sched_yield(); /* gives the other thread time to run */
}

/* Otherwise a child would inherit the lock. */
ON_NEW_FILTER(a_fork_waits_for_the_end_of_a_turn)
{
    bloomfile_filter *f = opened("filter", TURNS);
    add_until_watched(f, let_another_fork);
    assert_int_equal(pthread_join(forker, NULL), 0);
    assert_int_equal(forked, 0);
    bloomfile_close(f);
}

static unsigned children;

static void fork_in_handler(int signal)
{
    int status;
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    children += signal == SIGUSR1 && waitpid(child, &status, 0) == child && status == 0;
}

static void raise_in_turn(enum fault_call call)
{
    if (!watches || call != ON_fcntl64 || lock_on_byte(outsider, WRITERS) != F_WRLCK)
        return;
    watches = false;
    alarm(10); /* in case the fork waits forever */
    raise(SIGUSR1);
    assert_int_equal(children, 0);
}

ON_NEW_FILTER(a_signal_waits_for_the_end_of_a_turn)
{
    bloomfile_filter *f = opened("filter", TURNS);
    void (*before)(int) = signal(SIGUSR1, fork_in_handler);
    add_until_watched(f, raise_in_turn);
    assert_int_equal(children, 1);
    alarm(0);
    signal(SIGUSR1, before);
    bloomfile_close(f);
}

enum {
    WORKERS = 3,
    ROUNDS = 20,
    BATCH = 4000,
};

/* Opens the filter for each batch, so that it is alone at times. */
static int add_batches(bloomfile_filter *reader, unsigned worker, void *context)
{
    (void)reader;
    (void)context;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        bloomfile_digest digests[BATCH];
        for (uint64_t i = 0; i < BATCH; i++)
            digests[i] = number(4 + worker, round * BATCH + i);
        bloomfile_filter *f;
        int error;
        while (error = bloomfile_open(&f, "filter", TURNS | BLOOMFILE_OPEN_OVER_CAPACITY),
               error == EBUSY) /* see clock_nanosleep() above */
            sched_yield();
        for (unsigned half = 0; half < 2 && error == 0; half++)
            error =
                bloomfile_add_digests(f, digests + half * BATCH / 2, BATCH / 2, NULL, NULL, NULL);
        if (error != 0)
            return 1;
        bloomfile_close(f);
    }
    return 0;
}

/* ---- one thread adds, another removes */

enum {
    REMOVED = 100000
};

static void *remove_all(void *f)
{
    for (uint64_t i = 0; i < REMOVED; i++)
        if (bloomfile_remove_digest(f, number(3, i)) != 0)
            return f;
    return NULL;
}

/* Sealing compares the bits set with their counts. */
TEST_IN_DIR(concurrent_removals_next_to_an_adder_are_counted)
{
    const unsigned flags[] = { BLOOMFILE_OPEN_ONE_THREAD, BLOOMFILE_OPEN_SOLE_ADDER };
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_COUNTING);
    params.capacity = 1000000;
    for (unsigned i = 0; i < ROWS(flags); i++) {
        bloomfile_filter *f;
        pthread_t remover;
        void *failed;
        assert_error(bloomfile_create(&f, "filter", &params, BLOOMFILE_TO_REPLACE | flags[i]), 0);
        for (uint64_t j = 0; j < REMOVED; j++)
            assert_error(bloomfile_add_digest(f, number(3, j), NULL), 0);
        assert_int_equal(pthread_create(&remover, NULL, remove_all, f), 0);
        for (uint64_t j = 0; j < REMOVED; j++)
            assert_error(bloomfile_add_digest(f, number(4, j), NULL), 0);
        assert_int_equal(pthread_join(remover, &failed), 0);
        assert_null(failed);
        assert_error(bloomfile_seal(f, NULL), 0);
        bloomfile_close(f);
    }
}

/* Sealing compares the bits set with their counts. */
TEST_IN_DIR(switching_between_turns_and_shared_adds_loses_no_key)
{
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_BLOCKED);
    params.bits = 1 << 21;
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, "filter", &params, 0), 0);
    bloomfile_close(f);
    f = opened("filter", 0);
    workers_run(&(struct workers){
        .processes = WORKERS, .threads = 1, .inherited = f, .work = add_batches });
    bloomfile_close(f);
    f = opened("filter", BLOOMFILE_OPEN_WRITE);
    for (unsigned worker = 0; worker < WORKERS; worker++)
        for (uint64_t i = 0; i < ROUNDS * BATCH; i++)
            assert_true(bloomfile_contains_digest(f, number(4 + worker, i)));
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
}

int main(void)
{
    return run_all(NULL, NULL);
}
