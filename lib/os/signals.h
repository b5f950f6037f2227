/* SPDX-License-Identifier: MIT
 * The calling thread's signals, held back while a kill would leave something behind. */
#ifndef BLOOMFILE_SIGNALS_H
#define BLOOMFILE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Of zeros: none are held. */
struct signals {
    bool held;
    int ending; /* readable once one came that ends this process; -1: nobody can tell */
    sigset_t before;
};

/* The SIGBUS of a source that is truncated while it is read cannot be held back: blocked, it would
 * kill without asking its handler. */
void signals_hold(struct signals *s);

/* Only if they are held. */
void signals_let_go(struct signals *s);

/* While signals are held: whether one came that would have ended this process, and will, once they
 * are let go. For any thread of it. */
bool signals_will_end(const struct signals *s);

/* While signals are held, waits until read() has something to return. EINTR:
 * signals_will_end(). */
int signals_wait(const struct signals *s, int fd);

#endif
