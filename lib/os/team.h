/* SPDX-License-Identifier: MIT
 * Threads that share one piece of work. */
#ifndef BLOOMFILE_TEAM_H
#define BLOOMFILE_TEAM_H

#include <stdint.h>

#define TEAM_MOST 1024u

/* How many threads are worth their while, of those allowed (0 is 1), if there is work for `shares`.
 * To start a thread takes as long as some ten thousand digests. */
static inline unsigned team_size(unsigned threads, uint64_t shares)
{
    if (threads > shares)
        threads = (unsigned)shares;
    return threads > 1 ? threads : 1;
}

/* Runs work(context) in `threads` threads at once (0 is 1, TEAM_MOST at most), of which the calling
 * one is the first, and waits for all. Signals are blocked in the others, but for those of faults
 * (SIGBUS, SIGSEGV, ...), which the program may handle. Where the system refuses a thread, those
 * that there are do the work: they share it out among themselves. */
void team_run(unsigned threads, void (*work)(void *context), void *context);

#endif
