/* SPDX-License-Identifier: MIT
 * The calling thread's signals, cancellation of its long calls, and threads that help it. */
#include "os/thread.h"

#include <signal.h>
#include <stddef.h>

/* ---- The calling thread's signals, held back by pthread_sigmask(), which fails only if its
 * first argument is wrong. */

void signals_hold(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

/* Signals that a thread raises itself: if they were blocked, faults would end the process, and a
 * pipe without a reader would not. */
static const int raised[] = { SIGBUS, SIGFPE, SIGILL, SIGPIPE, SIGSEGV, SIGTRAP };

void signals_hold_sent(sigset_t *before)
{
    sigset_t sent;
    sigfillset(&sent);
    for (size_t i = 0; i < sizeof raised / sizeof raised[0]; i++)
        sigdelset(&sent, raised[i]);
    pthread_sigmask(SIG_BLOCK, &sent, before);
}

void signals_let_go(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* ---- Cancellation of long calls, by the callback of each thread. Threads that a call starts
 * have no callback: the calling thread checks its own for all. */

static _Thread_local struct {
    int (*stop)(void *context);
    void *context;
} mine;

void cancel_set(int (*stop)(void *context), void *context)
{
    mine.stop = stop;
    mine.context = context;
}

int cancel_wanted(void)
{
    return mine.stop != NULL ? mine.stop(mine.context) : 0;
}

/* ---- Started for one piece of work, then joined. */

static void *member(void *team)
{
    const struct team *t = team;
    t->work(t->context);
    return NULL;
}

bool team_start(struct team *t)
{
    sigset_t before;
    if (t->started == TEAM_MOST)
        return false;
    signals_hold_sent(&before);
    const bool good = pthread_create(&t->others[t->started], NULL, member, t) == 0;
    signals_let_go(&before);
    t->started += good ? 1 : 0;
    return good;
}

void team_join(struct team *t)
{
    while (t->started > 0)
        pthread_join(t->others[--t->started], NULL);
}

void team_run(unsigned threads, void (*work)(void *context), void *context)
{
    struct team t = { .work = work, .context = context };
    while (t.started + 1 < threads && team_start(&t))
        continue;
    work(context);
    team_join(&t);
}
