/* SPDX-License-Identifier: MIT
 * Who uses a handle of the library while the GIL is away: any number of threads, or one alone. All
 * of this is called with the GIL held, which guards it; no lock is, since one that another thread
 * holds stays held in a child of fork for ever. */
#ifndef BLOOMFILE_PYTHON_TURN_H
#define BLOOMFILE_PYTHON_TURN_H

#include "python.h"

struct turn {
    void *open;     /* the handle, if it may be used now; else NULL */
    void *handle;   /* the handle; NULL: closed */
    unsigned users; /* threads that have it without the GIL */
    unsigned forks; /* of this process's ancestors, when `users` was last right */
    bool alone;     /* one of them wants nobody else */
    bool closing;
};

/* Watches for fork, from the first import on. false: an exception is set. */
bool turn_watch(void);

/* Stands for this process, of those that have forked each other; not 0. */
unsigned turn_born(void);

/* Whether this is the process where turn_born() was that; else ValueError: a child of it must not
 * add to what both have. */
bool turn_is_at_home(unsigned born);

void turn_begin(struct turn *t, void *handle);

/* The handle, for use under the GIL; waits for a thread that is alone with it. NULL: an exception
 * is set, ValueError if it is closed. */
void *turn_ready_slowly(struct turn *t);
static inline void *turn_ready(struct turn *t)
{
    return t->open != NULL ? t->open : turn_ready_slowly(t);
}

/* The same for use without the GIL, until turn_leave(). */
void *turn_enter(struct turn *t);
void turn_leave(struct turn *t);

/* The same for several at once. */
bool turn_enter_all(struct turn *const *all, size_t n);
void turn_leave_all(struct turn *const *all, size_t n);

/* The same for one thread alone, until turn_leave_alone(). */
void *turn_enter_alone(struct turn *t);
void turn_leave_alone(struct turn *t);

/* Takes the handle away, once nobody uses it, for closing it. NULL: it was closed before, or an
 * exception is set. turn_begin() gives it back. */
void *turn_close(struct turn *t);

#endif
