/* SPDX-License-Identifier: MIT
 * Waiting is sleeping, a little at a time: it is rare, and only for one who wants to be alone. */
#include "turn.h"

#include <pthread.h>
#include <time.h>

#define NAP 200000 /* nanoseconds */

static unsigned forks;

static void after_fork_in_child(void)
{
    forks++;
}

bool turn_watch(void)
{
    static bool watched; /* one for all interpreters, whose imports take turns */
    if (watched)
        return true;
    watched = pthread_atfork(NULL, NULL, after_fork_in_child) == 0;
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
    PyErr_SetString(PyExc_ValueError, "only the process that made it adds to it, not its children");
    return false;
}

void turn_begin(struct turn *t, void *handle)
{
    *t = (struct turn){ .open = handle, .handle = handle, .forks = forks };
}

/* Threads of the parent are not here. What one of them was alone with is in the middle of
 * something, and never used again. */
static void look_for_fork(struct turn *t)
{
    if (t->forks == forks)
        return;
    t->forks = forks;
    t->users = 0;
    t->closing = false;
    if (t->alone)
        t->handle = NULL;
    t->open = t->handle;
}

/* Lets other threads run, and then handlers of signals. `alone`: this thread is the one that waits
 * to be alone, so its handlers would wait for themselves if they did not find the handle usable.
 * Nobody else opens it: whoever is about to be alone would find users each time it wakes. */
static bool nap(struct turn *t, bool alone)
{
    const struct timespec a_little = { .tv_nsec = NAP };
    PyThreadState *python = PyEval_SaveThread();
    nanosleep(&a_little, NULL);
    PyEval_RestoreThread(python);
    look_for_fork(t);
    if (alone && !t->alone && !t->closing)
        t->open = t->handle;
    return PyErr_CheckSignals() == 0;
}

void *turn_ready_slowly(struct turn *t)
{
    look_for_fork(t);
    while (t->open == NULL) {
        if (t->handle == NULL || t->closing) {
            PyErr_SetString(PyExc_ValueError, "it is closed, or was never opened");
            return NULL;
        }
        if (!nap(t, false))
            return NULL;
    }
    return t->open;
}

void *turn_enter(struct turn *t)
{
    void *handle = turn_ready(t);
    if (handle == NULL)
        return NULL;
    look_for_fork(t);
    t->users++;
    return handle;
}

void turn_leave(struct turn *t)
{
    t->users--;
}

bool turn_enter_all(struct turn *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (all[i]->open != NULL)
            continue;
        if (turn_ready_slowly(all[i]) == NULL)
            return false;
        i = (size_t)-1; /* others ran meanwhile: from the first one again */
    }
    for (size_t i = 0; i < n; i++) {
        look_for_fork(all[i]);
        all[i]->users++;
    }
    return true;
}

void turn_leave_all(struct turn *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        turn_leave(all[i]);
}

void *turn_enter_alone(struct turn *t)
{
    for (;;) {
        void *handle = turn_ready(t);
        if (handle == NULL)
            return NULL;
        look_for_fork(t);
        t->open = NULL; /* nobody else comes in */
        if (t->users == 0) {
            t->alone = true;
            return handle;
        }
        if (!nap(t, true))
            return NULL;
    }
}

void turn_leave_alone(struct turn *t)
{
    t->alone = false;
    t->open = t->handle;
}

void *turn_close(struct turn *t)
{
    look_for_fork(t);
    while (t->handle != NULL) {
        if (!t->alone && t->users == 0) {
            void *handle = t->handle;
            *t = (struct turn){ .forks = forks };
            return handle;
        }
        t->closing = true;
        t->open = NULL;
        if (nap(t, false))
            continue;
        t->closing = false;
        t->open = t->alone ? NULL : t->handle;
        return NULL;
    }
    return NULL;
}
