/* SPDX-License-Identifier: MIT
 * Blocking signals of the calling thread, cancelling its long calls, and helper threads. */
#include "os/thread.h"

#include <signal.h>
#include <stddef.h>

/* ---- Blocking signals by pthread_sigmask(), which fails only if its first argument is wrong. */

void signals_hold(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

/* Signals that a thread raises itself. If these were blocked, a fault would kill the process
 * without calling its handler, and SIGPIPE would not end it. */
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

/* ---- Cancelling long calls, by a callback of the calling thread. The helper threads of a call
 * have no callback: the calling thread checks for all. */

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

/* ---- Helper threads, started for one piece of work and then joined. */

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
