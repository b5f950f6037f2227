/* SPDX-License-Identifier: MIT
 * The calling thread's signals, held back for a moment in which a kill would leave something
 * behind. */
#ifndef BLOOMFILE_SIGNALS_H
#define BLOOMFILE_SIGNALS_H

#include <signal.h>

/* Sets *before, for signals_let_go(). Such moments may contain others, but no access to a mapped
 * file: a SIGBUS that comes of it would kill without asking its handler. Async-signal-safe. */
void signals_hold(sigset_t *before);
void signals_let_go(const sigset_t *before);

#endif
