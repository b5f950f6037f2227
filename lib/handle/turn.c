/* SPDX-License-Identifier: MIT
 * Bytes 3 and 1 of a live file, locked for the time of one call. */
#include "handle/turn.h"

#include <unistd.h>

#include "handle/lock.h"
#include "os/file.h"

static void start(struct turn *t, int fd, bool reads)
{
    t->refused = file_open_again(fd, true, &t->fd);
    t->own = t->refused == 0 || (reads && file_open_again(fd, false, &t->fd) == 0);
    if (!t->own)
        t->fd = fd;
}

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

int turn_lock_records(const struct turn *t)
{
    return lock_wait(t->fd, LOCK_RECORDS, 1);
}

void turn_unlock_records(const struct turn *t)
{
    lock_drop(t->fd, LOCK_RECORDS, 1);
}

/* Closing would drop them, but for a child that another thread forked meanwhile. */
void turn_end(const struct turn *t)
{
    lock_drop(t->fd, LOCK_SYNCS, 1);
    turn_unlock_records(t);
    if (t->own)
        close(t->fd);
}
