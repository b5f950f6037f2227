/* SPDX-License-Identifier: MIT
 * The calling thread's signals, held back by pthread_sigmask(), which fails only if its first
 * argument is wrong. */
#include "os/signals.h"

#include <pthread.h>
#include <stddef.h>

void signals_hold(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

void signals_let_go(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
