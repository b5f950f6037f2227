/* SPDX-License-Identifier: MIT */
#include "team.h"

#include <pthread.h>
#include <signal.h>

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
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started + 1 < threads && pthread_create(&others[started], NULL, member, &task) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(context);
    for (unsigned i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}
