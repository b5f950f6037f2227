/* SPDX-License-Identifier: MIT
 * Started for one piece of work, then joined. */
#include "os/team.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* Signals that a thread raises itself: blocked, they would end the process. */
static const int faults[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP };

struct task {
    void (*work)(void *context);
    void *context;
};

static void *member(void *argument)
{
    const struct task *task = argument;
    task->work(task->context);
    return NULL;
}

void team_run(unsigned threads, void (*work)(void *context), void *context)
{
    struct task task = { work, context };
    pthread_t others[TEAM_MOST];
    unsigned started = 0;
    sigset_t sent, before;
    sigfillset(&sent);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&sent, faults[i]);
    pthread_sigmask(SIG_SETMASK, &sent, &before);
    while (started + 1 < threads && pthread_create(&others[started], NULL, member, &task) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(context);
    for (unsigned i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}
