/* SPDX-License-Identifier: MIT
 * Adding processes are killed at random: every add that had returned is there, no lock remains, and
 * nothing has to be repaired. */
#include "faults.h"
#include "live_support.h"
#include "workers.h"

#include <bloomfile_live.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ADDERS     4
#define ROUNDS     300
#define KEYS       (1u << 14) /* of each adder, over and over */
#define SEED_STATE 20240229

/* What an adder has been told, in memory that outlives it. */
struct adder {
    atomic_uint added; /* keys first + 0 .. added - 1 are in the filter */
    uint64_t first;
    pid_t pid;
};

static void make_filter(uint32_t layout)
{
    bloomfile_filter *f;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.capacity = ADDERS * (ROUNDS + 1) * 1000;
    assert_error(bloomfile_create(&f, "filter", &params, 0), 0);
    bloomfile_close(f);
}

static _Noreturn void add_for_ever(struct adder *a, unsigned flags)
{
    bloomfile_filter *f;
    alarm(200);
    if (bloomfile_open(&f, "filter",
                       BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN |
                           BLOOMFILE_OPEN_OVER_CAPACITY | flags) != 0)
        _exit(1);
    for (unsigned i = 0;; i++) {
        if (bloomfile_add_digest(f, number(0, a->first + i % KEYS), NULL) != 0)
            _exit(2);
        if (i < KEYS)
            atomic_store(&a->added, i + 1);
        if (i % 1000 == 999 && a->first % 3 == 0 && bloomfile_sync(f) != 0)
            _exit(3);
    }
}

static void start(struct adder *a, unsigned flags)
{
    static uint64_t next;
    atomic_store(&a->added, 0);
    a->first = next;
    next += KEYS;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        add_for_ever(a, flags);
    a->pid = child;
}

static void kill_adder(struct adder *a)
{
    int status;
    assert_int_equal(kill(a->pid, SIGKILL), 0);
    assert_int_equal(waitpid(a->pid, &status, 0), a->pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void assert_all_there(const bloomfile_filter *f, const struct adder *a)
{
    unsigned added = atomic_load(&a->added);
    for (unsigned i = 0; i < added; i++)
        assert_true(bloomfile_contains_digest(f, number(0, a->first + i)));
}

/* Whoever comes next opens it like any other, at once, unless somebody was killed in a sync. */
static void assert_open_for_writing(unsigned flags)
{
    bloomfile_filter *f;
    alarm(20);
    int error = bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE | flags);
    if (error == BLOOMFILE_EUNCLEAN)
        error = bloomfile_open(&f, "filter",
                               BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN | flags);
    assert_error(error, 0);
    assert_error(bloomfile_add(f, "key", 3, NULL), 0);
    bloomfile_close(f);
    alarm(0);
}

static bloomfile_filter *opened_after_kills(void)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN),
                 0);
    return f;
}

static void nothing_is_lost(unsigned flags, uint32_t layout, unsigned rounds)
{
    uint64_t random = SEED_STATE, acknowledged = 0;
    struct adder *adders = shared_memory(ADDERS * sizeof *adders);
    bloomfile_filter *reader;
    make_filter(layout);
    assert_error(bloomfile_open(&reader, "filter", 0), 0);
    for (unsigned i = 0; i < ADDERS; i++)
        start(&adders[i], flags);
    for (unsigned round = 0; round < rounds; round++) {
        struct adder *victim = &adders[random64(&random) % ADDERS];
        struct timespec pause = { .tv_nsec = (long)(random64(&random) % 4000000) };
        nanosleep(&pause, NULL);
        kill_adder(victim);
        assert_all_there(reader, victim);
        acknowledged += atomic_load(&victim->added);
        if (round % 8 == 0)
            assert_open_for_writing(flags);
        start(victim, flags);
    }
    for (unsigned i = 0; i < ADDERS; i++) {
        while (atomic_load(&adders[i].added) == 0)
            usleep(1000);
        kill_adder(&adders[i]);
        acknowledged += atomic_load(&adders[i].added);
        assert_all_there(reader, &adders[i]);
    }
    print_message("%u kills, %llu acknowledged adds, all there\n", rounds + ADDERS,
                  (unsigned long long)acknowledged);
    assert_true(acknowledged > 0);
    bloomfile_close(reader);
    release_shared_memory(adders, ADDERS * sizeof *adders);
}

static void assert_can_be_sealed(void)
{
    bloomfile_filter *f = opened_after_kills();
    assert_int_equal(info_of(f).writers, 1);
    assert_int_equal(info_of(f).keys_estimated, 1);
    assert_error(bloomfile_seal(f), 0);
    bloomfile_close(f);
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_VERIFY_FULL), 0);
    assert_int_equal(info_of(f).keys_estimated, 1);
    bloomfile_close(f);
}

/* L5. */
TEST_IN_DIR(adders_are_killed)
{
    nothing_is_lost(0, BLOOMFILE_LAYOUT_BLOCKED, ROUNDS);
    assert_can_be_sealed();
}

TEST_IN_DIR(exact_adders_are_killed)
{
    nothing_is_lost(BLOOMFILE_OPEN_ADD_EXACT, BLOOMFILE_LAYOUT_BLOCKED, ROUNDS / 3);
    assert_can_be_sealed();
}

TEST_IN_DIR(adders_to_counters_are_killed)
{
    nothing_is_lost(0, BLOOMFILE_LAYOUT_COUNTING, ROUNDS / 3);
    assert_can_be_sealed();
}

/* ---- the lock of one who is stopped, and then killed */

static void stop_with_lock(enum fault_call call)
{
    if (call == ON_unlock)
        raise(SIGSTOP);
}

/* A child that adds two keys of one stripe, and is stopped while it has the lock of that stripe. */
static pid_t start_adding(bool stops)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bloomfile_filter *f;
        uint64_t digests[2] = { 1, 2 };
        alarm(60);
        if (bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT) != 0)
            _exit(1);
        if (stops)
            faults_begin(&(struct faults){ .at_each_call = stop_with_lock });
        _exit(bloomfile_add_digests(f, digests, 2, NULL, NULL, NULL) != 0);
    }
    return child;
}

TEST_IN_DIR(the_lock_of_a_killed_holder_is_free)
{
    const off_t stripe = 64;
    int status;
    make_filter(BLOOMFILE_LAYOUT_COUNTING); /* whose keys take the lock when they are there, too */
    const int fd = open("filter", O_RDWR | O_CLOEXEC);
    for (unsigned round = 0; round < 3; round++) {
        const pid_t holder = start_adding(true);
        assert_int_equal(waitpid(holder, &status, WUNTRACED), holder);
        assert_true(WIFSTOPPED(status));
        const int lock = lock_on_byte(fd, stripe);
        const pid_t adder = start_adding(false);
        const bool waits = still_waits(adder);
        assert_int_equal(kill(holder, SIGKILL), 0);
        assert_int_equal(waitpid(holder, &status, 0), holder);
        assert_int_equal(lock, F_WRLCK);
        assert_true(waits);
        assert_child_succeeds(adder);
    }
    close(fd);
}

int main(void)
{
    return run_all(NULL, NULL);
}
