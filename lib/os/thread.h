/* SPDX-License-Identifier: MIT
 * The calling thread's signals, cancellation of its long calls, and threads that help it. */
#ifndef BLOOMFILE_OS_THREAD_H
#define BLOOMFILE_OS_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- The calling thread's signals, held back for a moment in which a kill would leave something
 * behind. */

/* Sets *before, for signals_let_go(). Pairs of calls may be nested. Do not touch a mapped file
 * between them: a SIGBUS would kill the process without calling its handler. Async-signal-safe. */
void signals_hold(sigset_t *before);
/* The same, but not for signals that the thread raises itself, such as that SIGBUS. */
void signals_hold_sent(sigset_t *before);
void signals_let_go(const sigset_t *before);

/* ---- Cancellation of a long call by its caller. Each thread has its own callback. */

/* Sets the callback that can end this thread's long calls. NULL: they are not ended. */
void cancel_set(int (*stop)(void *context), void *context);

/* 0, or the error with which the calling function must end. */
int cancel_wanted(void);

/* ---- Threads that share one piece of work. */

#define TEAM_MOST 1024u

/* How many of the allowed threads (0 is 1) are worth starting for `shares` shares of work. Starting
 * a thread takes as long as adding some ten thousand digests. */
static inline unsigned team_size(unsigned threads, uint64_t shares)
{
    if (threads > shares)
        threads = (unsigned)shares;
    return threads > 1 ? threads : 1;
}

struct team {
    void (*work)(void *context);
    void *context;
    unsigned started; /* threads, not counting the calling thread */
    pthread_t others[TEAM_MOST];
};

/* Starts another thread, which runs work(context). It blocks all signals except those that a thread
 * raises itself (SIGBUS, SIGPIPE, ...), which the program may handle. false: the system refuses the
 * thread, or TEAM_MOST have been started. */
bool team_start(struct team *t);

/* Waits for all started threads. */
void team_join(struct team *t);

/* Runs work(context) in `threads` threads (0 is 1, at most TEAM_MOST), including the calling
 * thread, and waits for all. If the system refuses a thread, the other threads do its share of the
 * work. */
void team_run(unsigned threads, void (*work)(void *context), void *context);

#endif
