/* SPDX-License-Identifier: MIT
 * The calling thread's signals, held back for a moment in which a kill would leave something
 * behind. */
#ifndef BLOOMFILE_SIGNALS_H
#define BLOOMFILE_SIGNALS_H

#include <signal.h>

/* Sets *before, for signals_let_go(). Such moments may contain others. The SIGBUS of a source that
 * is truncated while it is read cannot be held back: blocked, it would kill without asking its
 * handler. Async-signal-safe. */
void signals_hold(sigset_t *before);
void signals_let_go(const sigset_t *before);

#endif
