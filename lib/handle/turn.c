/* SPDX-License-Identifier: MIT
 * Bytes 3 and 1 of a live file, locked for the time of one call. */
#include "handle/turn.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#include "handle/lock.h"
#include "os/file.h"

/* ---- openings, which a child of fork() has to close: it knows of no turn but its own */

static struct {
    pthread_mutex_t lock; /* held while one is opened or closed, and over fork() */
    struct turn *first;
    bool watched; /* fork() tells */
} openings = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void before_fork(void)
{
    pthread_mutex_lock(&openings.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&openings.lock);
}

static void after_fork_in_child(void)
{
    for (struct turn *t = openings.first; t != NULL; t = t->next) {
        close(t->fd);
        t->fd = -1;
        t->own = false;
    }
    openings.first = NULL;
    pthread_mutex_unlock(&openings.lock);
}

static void watch_forks(void)
{
    openings.watched = pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0;
}

/* Without an opening of its own, the turn has that of the handle. */
static void start(struct turn *t, int fd, bool reads)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *t = (struct turn){ .fd = fd, .refused = ENOMEM };
    pthread_once(&once, watch_forks);
    if (!openings.watched)
        return;
    int own;
    pthread_mutex_lock(&openings.lock);
    t->refused = file_open_again(fd, true, &own);
    t->own = t->refused == 0 || (reads && file_open_again(fd, false, &own) == 0);
    if (t->own) {
        t->fd = own;
        t->next = openings.first;
        openings.first = t;
    }
    pthread_mutex_unlock(&openings.lock);
}

static void close_own(struct turn *t)
{
    pthread_mutex_lock(&openings.lock);
    struct turn **link = &openings.first;
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    close(t->fd);
    pthread_mutex_unlock(&openings.lock);
}

/* ---- locks */

int turn_take(struct turn *t, int fd)
{
    start(t, fd, false);
    return lock_wait(t->fd, LOCK_SYNCS, 1);
}

int turn_join(struct turn *t, int fd)
{
    start(t, fd, false);
    return lock_wait_shared(t->fd, LOCK_SYNCS);
}

int turn_read(struct turn *t, int fd)
{
    start(t, fd, true);
    return lock_wait_shared(t->fd, LOCK_SYNCS);
}

int turn_commit(struct turn *t, int fd)
{
    start(t, fd, false);
    return turn_lock_records(t);
}

int turn_lock_records(const struct turn *t)
{
    return lock_wait(t->fd, LOCK_RECORDS, 1);
}

void turn_unlock_records(const struct turn *t)
{
    lock_drop(t->fd, LOCK_RECORDS, 1);
}

/* Closing would drop them, but not if a process was made without the handlers of fork(). */
void turn_end(struct turn *t)
{
    lock_drop(t->fd, LOCK_SYNCS, 1);
    turn_unlock_records(t);
    if (t->own)
        close_own(t);
}
