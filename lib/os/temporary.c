/* SPDX-License-Identifier: MIT
 * flock() tells whether a maker is alive. */
#include "os/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/signals.h"

#define FIXED TEMPORARY_FIXED

static void format(uint64_t number, char name[TEMPORARY_NAME_SIZE])
{
    snprintf(name, TEMPORARY_NAME_SIZE, ".bloomfile.%012llx.tmp",
             (unsigned long long)(number & 0xFFFFFFFFFFFF));
}

int temporary_name(unsigned attempt, char name[TEMPORARY_NAME_SIZE])
{
    uint64_t number = attempt;
    if (attempt >= FIXED && getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return errno;
    format(attempt < FIXED ? number : number | FIXED, name);
    return 0;
}

bool temporary_hold(unsigned attempt, int fd)
{
    return attempt >= FIXED || flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void temporary_let_go(int fd)
{
    flock(fd, LOCK_UN);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ---- what is listed */

static struct {
    atomic_int at_it; /* the process of which a thread is at the list; 0: none */
    int process;      /* whose list it is */
    struct temporary *first;
} listed;

/* Signals are held back, so no handler waits here for its own thread. A child of fork finds its
 * parent's list, where a thread that it does not have may have been at it. */
static void enter(void)
{
    const int self = (int)getpid();
    int there = 0;
    while (!atomic_compare_exchange_strong(&listed.at_it, &there, self)) {
        if (there != self)
            continue;
        there = 0;
        sched_yield();
    }
    if (listed.process != self)
        listed.first = NULL;
    listed.process = self;
}

static void leave(void)
{
    atomic_store(&listed.at_it, 0);
}

void temporary_list(struct temporary *t)
{
    enter();
    t->next = listed.first;
    listed.first = t;
    leave();
}

void temporary_unlist(struct temporary *t)
{
    sigset_t before;
    signals_hold(&before);
    enter();
    struct temporary **at = &listed.first;
    while (*at != NULL && *at != t)
        at = &(*at)->next;
    if (*at == t)
        *at = t->next;
    t->name[0] = '\0';
    leave();
    signals_let_go(&before);
}

void temporary_remove_listed(void)
{
    struct stat own, named;
    sigset_t before;
    const int error = errno;
    signals_hold(&before);
    enter();
    for (const struct temporary *t = listed.first; t != NULL; t = t->next)
        if (fstat(t->fd, &own) == 0 &&
            fstatat(t->directory, t->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
            is_same(&own, &named))
            unlinkat(t->directory, t->name, 0);
    leave();
    signals_let_go(&before);
    errno = error;
}

/* ---- what was left behind */

/* Nobody else removes the file while the lock is held, so the name stays this file's. */
static bool is_left_behind(int directory, const char *name, int fd)
{
    struct stat status, named;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    if (status.st_uid != geteuid() || flock(fd, LOCK_EX | LOCK_NB) != 0)
        return false;
    return fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&named, &status);
}

static void clean(int directory, const char *name)
{
    if (faccessat(directory, name, F_OK, 0) != 0)
        return;
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (is_left_behind(directory, name, fd))
        unlinkat(directory, name, 0);
    close(fd);
}

void temporary_clean(int directory)
{
    char name[TEMPORARY_NAME_SIZE];
    for (unsigned number = 0; number < FIXED; number++) {
        format(number, name);
        clean(directory, name);
    }
}
