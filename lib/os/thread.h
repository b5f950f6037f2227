/* SPDX-License-Identifier: MIT
 * Blocking signals of the calling thread, cancelling its long calls, and helper threads. */
#ifndef BLOOMFILE_OS_THREAD_H
#define BLOOMFILE_OS_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- Blocking signals while a kill would leave a file behind. */

/* Blocks all signals. Sets *before, for signals_let_go(). Pairs of calls may be nested. Do not
 * touch a mapped file between them: a blocked SIGBUS kills the process without calling its handler.
 * Async-signal-safe. */
void signals_hold(sigset_t *before);
/* Blocks all signals except those that the thread raises itself, such as SIGBUS. */
void signals_hold_sent(sigset_t *before);
void signals_let_go(const sigset_t *before);

/* ---- Cancelling a long call. Each thread has its own callback. */

/* Sets the callback that can end this thread's long calls; NULL for none. */
void cancel_set(int (*stop)(void *context), void *context);

/* Returns 0, or the error with which the running call must end. */
int cancel_wanted(void);

/* ---- Helper threads that share one piece of work. */

#define TEAM_MOST 1024u

/* Returns the number of threads, up to `threads` (0 is 1), that are worth starting for `shares`
 * shares of work. Starting a thread takes as long as adding some ten thousand digests. */
static inline unsigned team_size(unsigned threads, uint64_t shares)
{
    if (threads > shares)
        threads = (unsigned)shares;
    return threads > 1 ? threads : 1;
}

struct team {
    void (*work)(void *context);
    void *context;
    unsigned started; /* number of threads started, without the calling thread */
    pthread_t others[TEAM_MOST];
};

/* Starts another thread, which runs work(context). It blocks all signals except those that a thread
 * raises itself (SIGBUS, SIGPIPE, ...), which the program may handle. Returns false if the system
 * cannot start a thread, or TEAM_MOST were started. */
bool team_start(struct team *t);

/* Waits for all started threads. */
void team_join(struct team *t);

/* Runs work(context) in `threads` threads (0 is 1, at most TEAM_MOST), including the calling
 * thread, and waits for all. If a thread cannot be started, the others do its share of the work. */
void team_run(unsigned threads, void (*work)(void *context), void *context);

#endif
