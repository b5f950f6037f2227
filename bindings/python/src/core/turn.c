/* SPDX-License-Identifier: MIT
 * Waiters queue, and sleep a little at a time: the GIL guards all of this, and no lock. */
#include "turn.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "long_call.h"

#define SPINS 50     /* some 50 us, in which most batches end */
#define NAP   200000 /* nanoseconds, from there on */

/* An entry of the queue, on the stack of the waiting thread. A child of fork() has only the stack
 * of the thread that called fork(). */
struct waiter {
    struct waiter *next;
    enum turn_kind kind;
    unsigned naps;
    bool away; /* it runs handlers of signals: they may use the handle, and must not wait for it */
};

static unsigned forks;

static void after_fork_in_child(void)
{
    forks++;
}

static bool watched; /* for all interpreters */

static void watch(void)
{
    watched = pthread_atfork(NULL, NULL, after_fork_in_child) == 0;
}

bool turn_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
    if (!watched)
        PyErr_NoMemory();
    return watched;
}

unsigned turn_born(void)
{
    return forks + 1;
}

bool turn_is_at_home(unsigned born)
{
    if (born == turn_born())
        return true;
    PyErr_SetString(PyExc_ValueError,
                    "only the process that created it can add to it, not its children");
    return false;
}

void turn_begin(struct turn *t, void *handle, PyObject *path)
{
    *t = (struct turn){ .open = handle, .handle = handle, .path = path, .forks = forks };
}

void turn_closed(PyObject *path)
{
    if (path != NULL)
        PyErr_Format(PyExc_ValueError, "the filter %R is closed", path);
    else
        PyErr_SetString(PyExc_ValueError, "it is closed, or was never opened");
}

/* A child of fork lacks the parent's other threads. A handle that a thread had alone may be half
 * changed: the child never uses it. */
static void look_for_fork(struct turn *t)
{
    if (t->forks != forks)
        turn_begin(t, t->alone ? NULL : t->handle, t->path);
}

static bool exclude(enum turn_kind a, enum turn_kind b)
{
    return a == TURN_ALONE || b == TURN_ALONE || (a == TURN_ADDING && b == TURN_ADDING);
}

/* Returns whether this waiter need not wait for an earlier waiter. A waiter that is not in the
 * queue, because it is new or the process is a child of fork, is appended. */
static bool is_next(struct turn *t, struct waiter *me)
{
    bool next = true;
    struct waiter **at = &t->first;
    for (; *at != NULL && *at != me; at = &(*at)->next)
        next = next && ((*at)->away || !exclude((*at)->kind, me->kind));
    if (*at == NULL) {
        me->next = NULL;
        *at = me;
    }
    return next;
}

static void leave_queue(struct turn *t, const struct waiter *me)
{
    struct waiter **at = &t->first;
    while (*at != NULL && *at != me)
        at = &(*at)->next;
    if (*at != NULL)
        *at = me->next;
}

/* Lets other threads run, and then handlers of signals. */
static bool nap(struct turn *t, struct waiter *me)
{
    const struct timespec a_little = { .tv_nsec = NAP };
    if (long_call_is_interrupted()) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "a signal handler cannot wait here: it may wait for the call it interrupts");
        return false;
    }
    PyThreadState *python = PyEval_SaveThread();
    if (me->naps++ < SPINS)
        sched_yield();
    else
        nanosleep(&a_little, NULL);
    PyEval_RestoreThread(python);
    me->away = true;
    const bool good = PyErr_CheckSignals() == 0;
    me->away = false;
    look_for_fork(t);
    return good;
}

static bool is_free(const struct turn *t, enum turn_kind kind)
{
    return !t->alone && !(kind == TURN_ADDING && t->adding) &&
           !(kind == TURN_ALONE && t->users > 0);
}

void *turn_wait(struct turn *t, enum turn_kind kind)
{
    struct waiter me = { .kind = kind };
    bool good = true, next = false;
    look_for_fork(t);
    while (good && t->handle != NULL && !t->closing &&
           !(next = is_next(t, &me) && is_free(t, kind)))
        good = nap(t, &me);
    leave_queue(t, &me);
    if (next)
        return t->handle;
    if (good)
        turn_closed(t->path);
    return NULL;
}

static void mark(struct turn *t, enum turn_kind kind)
{
    if (kind == TURN_ALONE) {
        t->alone = true;
        t->open = NULL;
        return;
    }
    t->users++;
    t->adding = t->adding || kind == TURN_ADDING;
}

void *turn_enter(struct turn *t, enum turn_kind kind)
{
    void *handle = turn_wait(t, kind);
    if (handle != NULL)
        mark(t, kind);
    return handle;
}

/* If a handler of a signal forked during the call, and used the handle in the child, the child no
 * longer counts the call. */
void turn_leave(struct turn *t, enum turn_kind kind)
{
    if (kind == TURN_ALONE)
        t->alone = false;
    else if (t->users > 0)
        t->users--;
    if (kind == TURN_ADDING)
        t->adding = false;
    t->open = t->closing ? NULL : t->handle;
}

/* Enters no handle while it waits for another: two callers might wait for each other. */
bool turn_enter_all(struct turn *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (all[i]->open != NULL)
            continue;
        if (turn_wait(all[i], TURN_SHARED) == NULL)
            return false;
        i = (size_t)-1; /* other threads ran: start from the first again */
    }
    for (size_t i = 0; i < n; i++) {
        look_for_fork(all[i]);
        mark(all[i], TURN_SHARED);
    }
    return true;
}

void turn_leave_all(struct turn *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        turn_leave(all[i], TURN_SHARED);
}

void *turn_close(struct turn *t)
{
    struct waiter me = { 0 };
    look_for_fork(t);
    while (t->handle != NULL) {
        if (!t->alone && t->users == 0) {
            void *handle = t->handle;
            t->handle = t->open = NULL;
            t->closing = false;
            return handle;
        }
        t->closing = true;
        t->open = NULL;
        if (nap(t, &me))
            continue;
        t->closing = false;
        t->open = t->alone ? NULL : t->handle;
        return NULL;
    }
    return NULL;
}
