/* SPDX-License-Identifier: MIT
 * Use of a library handle without the GIL: by any readers and one adder, or by a single thread.
 * Threads that exclude each other take turns in the order in which they came. All of this is
 * called with the GIL held, which guards it. It has no lock, since a lock that another thread holds
 * stays held in a child of fork. */
#ifndef BLOOMFILE_PYTHON_TURN_H
#define BLOOMFILE_PYTHON_TURN_H

#include "python.h"

enum turn_kind {
    TURN_SHARED, /* any number of threads */
    TURN_ADDING, /* one adding thread; shared uses continue */
    TURN_ALONE,  /* one thread, and no other use */
};

struct waiter;

struct turn {
    void *open;           /* the handle, if no thread is alone with it or closes it; else NULL */
    void *handle;         /* the handle; NULL: closed */
    struct waiter *first; /* of those that wait, in order */
    unsigned users;       /* threads that use the handle without the GIL, in the first two kinds */
    unsigned forks;       /* the number of forks at which these members were last valid */
    PyObject *path;       /* of the handle, for errors; borrowed; NULL: none */
    bool adding, alone;   /* there is such a thread */
    bool closing;
};

/* Watches for fork, from the first import on. Returns false with an exception set. */
bool turn_watch(void);

/* Stands for this process, of those that have forked each other; not 0. */
unsigned turn_born(void);

/* Returns true if this is the process in which turn_born() returned `born`. Otherwise sets a
 * ValueError: a child of fork must not add to an object that it shares with its parent. */
bool turn_is_at_home(unsigned born);

/* path: see struct turn. */
void turn_begin(struct turn *t, void *handle, PyObject *path);

/* Sets ValueError: the handle is closed. */
void turn_closed(PyObject *path);

/* Waits until a use of this kind may begin. Returns the handle, for use under the GIL. Returns NULL
 * with an exception set, ValueError if it is closed. */
void *turn_wait(struct turn *t, enum turn_kind kind);
static inline void *turn_ready(struct turn *t)
{
    return t->open != NULL ? t->open : turn_wait(t, TURN_SHARED);
}

static inline void *turn_ready_to_add(struct turn *t, enum turn_kind kind)
{
    return t->open != NULL && !(t->adding && kind == TURN_ADDING) ? t->open : turn_wait(t, kind);
}

/* Like turn_take(), for use without the GIL until turn_leave(). */
void *turn_enter(struct turn *t, enum turn_kind kind);
void turn_leave(struct turn *t, enum turn_kind kind);

/* Like turn_enter(), for several handles, with TURN_SHARED. */
bool turn_enter_all(struct turn *const *all, size_t n);
void turn_leave_all(struct turn *const *all, size_t n);

/* Waits until no thread uses the handle, and returns it, to be closed; new uses fail from the call
 * on. Returns NULL if it was already closed, or with an exception set. turn_begin() opens the turn
 * again. */
void *turn_close(struct turn *t);

#endif
