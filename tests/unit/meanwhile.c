/* SPDX-License-Identifier: MIT
 * What others do in the middle of an operation. */
#include "meanwhile.h"

#include <bloomfile.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/header.h"
#include "support.h"

static enum fault_call in_call;
static unsigned in_nth;
static void (*meanwhile)(void);

static void in_the_middle(enum fault_call call)
{
    if (call == in_call && in_nth > 0 && --in_nth == 0)
        meanwhile();
}

int with_others_and(struct faults faults, int (*run)(void), enum fault_call call, unsigned nth,
                    void (*act)(void))
{
    in_call = call;
    in_nth = nth;
    meanwhile = act;
    faults.at_each_call = in_the_middle;
    faults_begin(&faults);
    int error = run();
    faults_end();
    assert_int_equal(in_nth, 0);
    return error;
}

int with_others(int (*run)(void), enum fault_call call, unsigned nth, void (*act)(void))
{
    return with_others_and((struct faults){ 0 }, run, call, nth, act);
}

static unsigned ends_at_call;
static atomic_uint calls;
static bool others_take_it; /* another thread */

static void press_ctrl_c(enum fault_call call)
{
    (void)call;
    if (atomic_fetch_add(&calls, 1) + 1 != ends_at_call)
        return;
    kill(getpid(), SIGINT);
    if (others_take_it)
        usleep(2000);
}

static void end_here(int number)
{
    (void)number;
    bloomfile_remove_temporaries();
    kill(getpid(),
         SIGKILL); /* at once: _exit() has ThreadSanitizer look for threads that nobody joined */
}

static void *run_in_thread(void *context)
{
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    if (others_take_it)
        pthread_sigmask(SIG_BLOCK, &interrupt, NULL);
    int (**run)(void) = context;
    const struct faults faults = { .no_unnamed_files = true, .at_each_call = press_ctrl_c };
    faults_begin(&faults);
    const int error = (*run)();
    faults_end();
    const bool was_pressed = atomic_load(&calls) >= ends_at_call;
    while (others_take_it && was_pressed)
        pause(); /* for the end */
    _exit(error == 0 && !was_pressed ? 0 : 1);
}

/* True if the handler ended the child. */
static bool ends_at(int (*run)(void), unsigned call)
{
    const struct sigaction ends = { .sa_handler = end_here };
    pthread_t thread;
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sigaction(SIGINT, &ends, NULL);
        ends_at_call = call;
        if (!others_take_it)
            run_in_thread(&run);
        if (pthread_create(&thread, NULL, run_in_thread, &run) == 0)
            pthread_join(thread, NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return true;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("Ctrl-C at call %u: status %x", call, (unsigned)status);
    return false;
}

static void end_at_any_call(int (*run)(void), void (*made)(void))
{
    const size_t entries = entries_in_dir();
    unsigned call = 0;
    bool ended;
    do {
        ended = ends_at(run, ++call);
        made();
        if (entries_in_dir() != entries)
            fail_msg("Ctrl-C at call %u leaves a file behind", call);
    } while (ended);
    assert_true(call > 20);
}

void ended_at_any_call(int (*run)(void), void (*made)(void))
{
    others_take_it = false;
    end_at_any_call(run, made);
}

void ended_beside_any_call(int (*run)(void), void (*made)(void))
{
    others_take_it = true;
    end_at_any_call(run, made);
}

void overwrite(const char *path, off_t at, const void *bytes, size_t size)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, bytes, size, at), size);
    close(fd);
}

void change_record(const char *path, unsigned slot, unsigned at, unsigned size, uint64_t value)
{
    struct bytes bytes = read_file(path);
    uint8_t *record = record_at(bytes.data, slot);
    if (size == 4)
        put32(record + at, (uint32_t)value);
    else
        put64(record + at, value);
    reseal_record(bytes.data, slot);
    overwrite(path, record - bytes.data, record, IN_FILE / 4);
    free(bytes.data);
}

void poison_records(const char *path)
{
    for (unsigned slot = 0; slot < 2; slot++)
        change_record(path, slot, RECORD_AT_state, 4, BLOOMFILE_POISONED);
}

void damage_records(const char *path)
{
    for (unsigned slot = 0; slot < 2; slot++)
        overwrite(path, IN_FILE / 2 + slot * (IN_FILE / 4) + 20, "damaged", 7);
}
