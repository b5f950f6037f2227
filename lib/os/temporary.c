/* SPDX-License-Identifier: MIT
 * flock() tells whether a maker is alive. */
#include "os/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/signals.h"
#include "os/wiped.h"

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

/* A child of fork() has none of it: its memory is zeros. */
struct listed {
    atomic_bool at_it; /* a thread is */
    bool over;         /* the names were removed */
    struct temporary *first;
};

static _Atomic(struct listed *) listed;

/* Once there is one, it stays. Before Linux 4.14 there is none: a signal then leaves the files. */
static int make_list(void)
{
    void *made;
    struct listed *none = NULL;
    if (atomic_load(&listed) != NULL)
        return 0;
    int error = wiped_new(&made, sizeof *none);
    if (error == 0 && !atomic_compare_exchange_strong(&listed, &none, made))
        wiped_free(made, sizeof *none);
    return error == EINVAL ? 0 : error;
}

/* Signals are held back, so no handler waits here for its own thread. */
static struct listed *enter(void)
{
    struct listed *l = atomic_load(&listed);
    const struct timespec a_while = { 0, 100000 };
    while (l != NULL && atomic_exchange(&l->at_it, true))
        nanosleep(&a_while, NULL);
    return l;
}

static void leave(struct listed *l)
{
    if (l != NULL)
        atomic_store(&l->at_it, false);
}

int temporary_begin(sigset_t *before)
{
    int error = make_list();
    if (error != 0)
        return error;
    signals_hold(before);
    struct listed *l = enter();
    if (l == NULL || !l->over)
        return 0;
    leave(l);
    signals_let_go(before);
    return EINTR;
}

void temporary_end(struct temporary *t, const sigset_t *before)
{
    struct listed *l = atomic_load(&listed);
    if (l != NULL && t != NULL) {
        t->next = l->first;
        l->first = t;
    }
    leave(l);
    signals_let_go(before);
}

void temporary_unlist(struct temporary *t)
{
    sigset_t before;
    signals_hold(&before);
    struct listed *l = enter();
    struct temporary *none = NULL, **at = l != NULL ? &l->first : &none;
    while (*at != NULL && *at != t)
        at = &(*at)->next;
    if (*at == t)
        *at = t->next;
    t->name[0] = '\0';
    leave(l);
    signals_let_go(&before);
}

int temporary_check(const struct temporary *t)
{
    struct stat own, named;
    if (fstat(t->fd, &own) != 0 || fstatat(t->directory, t->name, &named, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    return is_same(&own, &named) ? 0 : EBUSY;
}

void temporary_remove_listed(void)
{
    sigset_t before;
    const int error = errno;
    if (atomic_load(&listed) == NULL)
        return;
    signals_hold(&before);
    struct listed *l = enter();
    l->over = true;
    for (const struct temporary *t = l->first; t != NULL; t = t->next)
        if (temporary_check(t) == 0)
            unlinkat(t->directory, t->name, 0);
    leave(l);
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
