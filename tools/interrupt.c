/* SPDX-License-Identifier: MIT */
#include "interrupt.h"
#include "cli.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static struct {
    sigset_t signals;
    pthread_mutex_t step; /* held while a step is being done */
    atomic_int came;      /* the signal; 0: none yet */
    void (*finish)(void *data);
    void *data;
} watch = { .step = PTHREAD_MUTEX_INITIALIZER };

static _Noreturn void die(int number)
{
    pthread_sigmask(SIG_UNBLOCK, &watch.signals, NULL);
    raise(number);
    _exit(CLI_TROUBLE);
}

static void *wait_for_signal(void *unused)
{
    int number;
    (void)unused;
    if (sigwait(&watch.signals, &number) != 0)
        return NULL;
    atomic_store(&watch.came, number);
    pthread_sigmask(SIG_UNBLOCK, &watch.signals, NULL);
    pthread_mutex_lock(&watch.step);
    watch.finish(watch.data);
    die(number);
}

void interrupt_watch(void (*finish)(void *data), void *data)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action;
    pthread_t thread;
    watch.finish = finish;
    watch.data = data;
    sigemptyset(&watch.signals);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&watch.signals, numbers[i]);
    }
    int error = pthread_sigmask(SIG_BLOCK, &watch.signals, NULL);
    if (error == 0)
        error = pthread_create(&thread, NULL, wait_for_signal, NULL);
    if (error == 0)
        error = pthread_detach(thread);
    if (error != 0)
        cli_fail(error, "cannot watch for signals");
}

void interrupt_hold(void)
{
    pthread_mutex_lock(&watch.step);
    if (atomic_load(&watch.came) == 0)
        return;
    pthread_mutex_unlock(&watch.step);
    for (;;)
        pause();
}

void interrupt_release(void)
{
    pthread_mutex_unlock(&watch.step);
}

void interrupt_end(void)
{
    int number = atomic_load(&watch.came);
    if (number != 0)
        die(number);
}
