/* SPDX-License-Identifier: MIT
 * Signals that end the program: handlers that record them, and ending the program by the recorded
 * signal. */
#include "cli/fatal_signals.h"

#include <bloomfile.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

enum {
    ONE_REQUEST_MS = 1000 /* signals this soon after the first belong to the same request */
};

static atomic_int ended_by;
static atomic_uint first_ms; /* when the first signal arrived; 0: not yet */

/* Milliseconds. Never returns 0, and wraps around. */
static unsigned now_ms(void)
{
    struct timespec now = { 0 };
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((unsigned)now.tv_sec * 1000u + (unsigned)(now.tv_nsec / 1000000)) | 1u;
}

bool fatal_signals_is_first(void)
{
    unsigned none = 0, now = now_ms();
    return atomic_compare_exchange_strong(&first_ms, &none, now) || now - none < ONE_REQUEST_MS;
}

void fatal_signals_die(int number)
{
    sigset_t it;
    signal(number, SIG_DFL);
    raise(number);
    sigemptyset(&it);
    sigaddset(&it, number);
    pthread_sigmask(SIG_UNBLOCK, &it, NULL);
    _exit(2); /* an error: the default action of this signal does not end a program */
}

static void on_signal(int number)
{
    if (!fatal_signals_is_first())
        fatal_signals_die(number);
    atomic_store(&ended_by, number);
    alarm(1);
}

/* The first alarm interrupts a wait for input that began just after the signal. At the second alarm
 * the call is waiting for a disk, or another thread is waiting for input: the program ends. */
static void on_alarm(int number)
{
    static atomic_flag again = ATOMIC_FLAG_INIT;
    (void)number;
    if (atomic_flag_test_and_set(&again))
        fatal_signals_die(atomic_load(&ended_by));
    alarm(1);
}

/* Callback for bloomfile_stop_with(). */
static int is_ended(void *context)
{
    (void)context;
    return atomic_load(&ended_by) != 0 ? EINTR : 0;
}

void fatal_signals_catch(void)
{
    static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
    const struct sigaction notes = { .sa_handler = on_signal }, dies = { .sa_handler = on_alarm };
    struct sigaction now;
    bloomfile_stop_with(is_ended, NULL);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(signals[i], &notes, NULL);
    sigaction(SIGALRM, &dies, NULL);
}

void fatal_signals_check(void)
{
    const int number = atomic_load(&ended_by);
    if (number != 0)
        fatal_signals_die(number);
}
