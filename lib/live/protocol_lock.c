/* SPDX-License-Identifier: MIT
 * The locks of the live protocol, LOCK_SYNCS and LOCK_RECORDS, held for the time of one call. */
#include "live/protocol_lock.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live/lock_bytes.h"
#include "os/file.h"
#include "os/thread.h"

#define SOLE_SIZE 4096 /* bytes mapped by a sole adder */

/* ---- the list of open protocol locks, whose descriptors a child of fork() closes */

static struct {
    pthread_mutex_t lock; /* held while a descriptor is opened or closed, and during fork() */
    struct protocol_lock *first;
    bool watched;     /* the pthread_atfork() handlers are installed */
    sigset_t signals; /* signal mask from before the current turn */
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
    for (struct protocol_lock *t = openings.first; t != NULL; t = t->next) {
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

static bool forks_are_watched(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return openings.watched;
}

/* Opens the handle's file again. Returns EBADF if the application closed the descriptor and reused
 * its number. */
static int open_own(struct protocol_lock *t, const bloomfile_filter *f, bool writable)
{
    int own, error = file_open_again(f->live->fd, writable, &own);
    if (error != 0)
        return error;
    t->unfit = file_check(own, &f->live->own);
    if (t->unfit != 0) {
        close(own);
        return t->unfit;
    }
    t->fd = own;
    t->own = true;
    return 0;
}

static void open_for_call(struct protocol_lock *t, const bloomfile_filter *f, bool reads)
{
    pthread_mutex_lock(&openings.lock);
    t->refused = open_own(t, f, true);
    if (!t->own && t->unfit == 0 && reads)
        open_own(t, f, false);
    if (t->own) {
        t->next = openings.first;
        openings.first = t;
    }
    pthread_mutex_unlock(&openings.lock);
}

/* If the file cannot be opened again, the lock uses the handle's descriptor. */
static int start_lock(struct protocol_lock *t, const bloomfile_filter *f, bool reads)
{
    *t = (struct protocol_lock){ .fd = -1, .refused = ENOMEM };
    if (forks_are_watched())
        open_for_call(t, f, reads);
    if (t->own || t->unfit != 0)
        return t->unfit;
    const int error = file_check(f->live->fd, &f->live->own);
    if (error == 0)
        t->fd = f->live->fd;
    return error;
}

static void close_own(struct protocol_lock *t)
{
    pthread_mutex_lock(&openings.lock);
    struct protocol_lock **link = &openings.first;
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    close(t->fd);
    pthread_mutex_unlock(&openings.lock);
}

/* ---- locks */

int protocol_lock_take(struct protocol_lock *t, const bloomfile_filter *f)
{
    const int error = start_lock(t, f, false);
    return error != 0 ? error : lock_wait(t->fd, LOCK_SYNCS, 1);
}

int protocol_lock_join(struct protocol_lock *t, const bloomfile_filter *f)
{
    const int error = start_lock(t, f, false);
    return error != 0 ? error : lock_wait_shared(t->fd, LOCK_SYNCS);
}

int protocol_lock_read(struct protocol_lock *t, const bloomfile_filter *f)
{
    const int error = start_lock(t, f, true);
    return error != 0 ? error : lock_wait_shared(t->fd, LOCK_SYNCS);
}

int protocol_lock_commit(struct protocol_lock *t, const bloomfile_filter *f)
{
    const int error = start_lock(t, f, false);
    return error != 0 ? error : protocol_lock_records(t);
}

int protocol_lock_records(const struct protocol_lock *t)
{
    return lock_wait(t->fd, LOCK_RECORDS, 1);
}

void protocol_unlock_records(const struct protocol_lock *t)
{
    lock_drop(t->fd, LOCK_RECORDS, 1);
}

/* Unlocks explicitly: closing alone would not, if a child made without fork handlers shares the
 * description. */
void protocol_lock_end(struct protocol_lock *t)
{
    lock_drop(t->fd, LOCK_SYNCS, 1);
    protocol_unlock_records(t);
    if (t->own)
        close_own(t);
}

/* ---- the lock of a sole adder */

/* The mapping keeps the open file description, and with it the lock, after the descriptor is
 * closed. */
static int keep_open(int fd, void **sole)
{
    void *page = mmap(NULL, SOLE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return errno;
    if (madvise(page, SOLE_SIZE, MADV_DONTFORK) == 0) {
        *sole = page;
        return 0;
    }
    const int error = errno;
    munmap(page, SOLE_SIZE);
    return error;
}

int protocol_lock_sole(const bloomfile_filter *f, void **sole)
{
    struct protocol_lock t = { .fd = -1 };
    if (!forks_are_watched())
        return ENOMEM;
    pthread_mutex_lock(&openings.lock); /* a child would inherit the descriptor */
    int error = open_own(&t, f, true);
    if (error == 0)
        error = lock_try(t.fd, LOCK_WRITERS, true);
    if (error == 0)
        error = keep_open(t.fd, sole);
    if (t.own)
        close(t.fd);
    pthread_mutex_unlock(&openings.lock);
    return error;
}

void protocol_unlock_sole(void *sole)
{
    munmap(sole, SOLE_SIZE);
}

/* ---- the lock of a turn (live/adding.h) */

/* Signals are blocked: a handler that calls fork() during a turn would wait for the end of that
 * turn, and so deadlock. */
bool protocol_lock_turn(const bloomfile_filter *f)
{
    sigset_t before;
    if (!forks_are_watched())
        return false;
    signals_hold_sent(&before);
    if (pthread_mutex_trylock(&openings.lock) == 0) {
        openings.signals = before;
        if (file_check(f->live->fd, &f->live->own) == 0 &&
            lock_try(f->live->fd, LOCK_WRITERS, true) == 0)
            return true;
        pthread_mutex_unlock(&openings.lock);
    }
    signals_let_go(&before);
    return false;
}

void protocol_unlock_turn(const bloomfile_filter *f)
{
    const sigset_t before = openings.signals;
    lock_try(f->live->fd, LOCK_WRITERS, false);
    pthread_mutex_unlock(&openings.lock);
    signals_let_go(&before);
}
