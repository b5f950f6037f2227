/* SPDX-License-Identifier: MIT
 * A thread ends the program; all other threads must have stopped by then. */
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keys/relay.h"

enum {
    THREADS = 3,
    TOO_EARLY = 99,
    ROUNDS = 50
};

struct ending {
    pthread_barrier_t all_at_work;
    atomic_uint batches;
    atomic_int failing[THREADS - 1];
};

static atomic_uint at_work;

static void close_all(void)
{
    if (at_work > 0)
        _exit(TOO_EARLY);
}

/* The batches after the first start the other threads. Two of them fail together; the third works
 * until both wait. */
static void two_fail(void *job, struct batch *batch)
{
    struct ending *ending = job;
    const unsigned number = ending->batches++;
    if (number == 0)
        return;
    at_work++;
    if (number < THREADS)
        ending->failing[number - 1] = (int)syscall(SYS_gettid);
    pthread_barrier_wait(&ending->all_at_work);
    if (number < THREADS) {
        at_work--;
        cli_fail(0, "no way to go on");
    }
    for (int i = 0; i < THREADS - 1; i++)
        (void)falls_asleep(state_of(getpid(), ending->failing[i]), NULL);
    at_work--;
}

static void disk_fails(void *job, struct batch *batch)
{
    struct ending *ending = job;
    if (ending->batches++ == 0)
        return;
    pthread_barrier_wait(&ending->all_at_work);
    for (;;)
        raise(SIGBUS);
}

static void do_nothing(void *job, struct batch *batch)
{
}

static void halt_and_fail(void *job, struct batch *batch)
{
    relay_halt();
    cli_fail(0, "no way to go on");
}

_Noreturn static void run(struct relay relay)
{
    static char path[] = "keys", *const paths[] = { path };
    static struct ending ending;
    const struct keys_options one_by_one = { .piece_size = 1 };
    int messages = open("messages", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (messages < 0 || dup2(messages, STDERR_FILENO) < 0 || atexit(close_all) != 0 ||
        pthread_barrier_init(&ending.all_at_work, NULL, THREADS) != 0)
        _exit(1);
    cli_start("relay");
    cli_catch_bus_error("disk");
    relay.input = keys_new(&one_by_one, paths, 1);
    relay.threads = THREADS;
    relay.job = &ending;
    relay_run(&relay);
    _exit(0);
}

static void assert_one_ends_it(struct relay relay, const char *expected)
{
    char messages[200] = "";
    write_file("keys", "a\nb\nc\nd\ne\nf\ng\nh\n", 16);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        run(relay);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), CLI_ERROR);
    FILE *file = fopen("messages", "r");
    assert_non_null(file);
    assert_in_range(fread(messages, 1, sizeof messages - 1, file), 1, sizeof messages);
    fclose(file);
    assert_string_equal(messages, expected);
}

static const char no_way[] = "relay: no way to go on\n";

TEST_IN_DIR(exactly_one_of_two_failing_threads_ends_the_program)
{
    assert_one_ends_it((struct relay){ .work = two_fail, .finish = do_nothing }, no_way);
}

TEST_IN_DIR(thread_that_halted_the_others_can_still_fail)
{
    assert_one_ends_it((struct relay){ .work = do_nothing, .finish = halt_and_fail }, no_way);
}

TEST_IN_DIR(file_that_shrinks_under_several_threads_is_reported_once)
{
    for (int i = 0; i < ROUNDS; i++)
        assert_one_ends_it((struct relay){ .work = disk_fails, .finish = do_nothing },
                           "relay: disk: the file shrank or its disk failed while it was read\n");
}

int main(void)
{
    return run_all(NULL, NULL);
}
