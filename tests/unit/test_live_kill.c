/* SPDX-License-Identifier: MIT
 * Processes are killed at random while they add. Every add that returned is present, no lock
 * remains, and no repair is needed. */
#include "live_support.h"
#include "workers.h"

#include <bloomfile_live.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ADDERS     4
#define ROUNDS     300
#define KEYS       (1u << 14) /* of each adder, repeatedly */
#define SEED_STATE 20240229

/* The progress of an adder, in memory that outlives it. */
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
        if (i % 1000 == 999 && a->first % 3 == 0 && bloomfile_sync(f, NULL) != 0)
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

/* The next process opens the file without waiting; as unclean, if a process was killed in a
 * sync. */
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
    assert_error(bloomfile_seal(f, NULL), 0);
    bloomfile_close(f);
    assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_VERIFY_FULL), 0);
    assert_int_equal(info_of(f).keys_estimated, 1);
    bloomfile_close(f);
}

/* L5. */
TEST_IN_DIR(killed_adders_lose_no_acknowledged_key)
{
    nothing_is_lost(0, BLOOMFILE_LAYOUT_BLOCKED, ROUNDS);
    assert_can_be_sealed();
}

TEST_IN_DIR(killed_exact_adders_lose_no_acknowledged_key)
{
    nothing_is_lost(BLOOMFILE_OPEN_ADD_EXACT, BLOOMFILE_LAYOUT_BLOCKED, ROUNDS / 3);
    assert_can_be_sealed();
}

TEST_IN_DIR(killed_adders_to_counters_lose_no_acknowledged_key)
{
    nothing_is_lost(0, BLOOMFILE_LAYOUT_COUNTING, ROUNDS / 3);
    assert_can_be_sealed();
}

int main(void)
{
    return run_all(NULL, NULL);
}
