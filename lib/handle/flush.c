/* SPDX-License-Identifier: MIT
 * The mark goes before the body's msync, the commit after it. */
#include "handle/flush.h"

#include <bloomfile_inspect.h>
#include <errno.h>

#include "handle/turn.h"
#include "os/file.h"

/* sync 2: the mark. One that is there already belongs to a writer that is gone. This writer had the
 * file open before (a new one refuses, or was told to accept), so the kernel will report to it too.
 */
int flush_begin(const bloomfile *f, struct header *now)
{
    struct record next = now->record;
    if (next.sequence >= LIVE_LAST_SEQUENCE - 1)
        return EOVERFLOW; /* no sequence would be left for removing the mark */
    if ((next.flags & RECORD_SYNC_BEGUN) != 0)
        return 0;
    next.flags |= RECORD_SYNC_BEGUN;
    return live_write(f, now, next);
}

int flush_body(const bloomfile *f, const struct header *begun)
{
    int error = map_sync(&f->map, f->map.base_size); /* sync 3: the body goes to disk */
    if (error != 0)
        guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    else
        f->session->durable = begun->record.sequence + 1;
    return error;
}

struct record flush_ended(struct record r)
{
    r.flags &= ~RECORD_SYNC_BEGUN;
    return r;
}

int flush_end(const bloomfile *f, struct header *now, struct record next)
{
    int error = live_commit(f, now, flush_ended(next));
    if (error != 0 && !live_in_doubt(f))
        live_write(f, now, flush_ended(now->record));
    return error;
}

static int begin(const bloomfile *f, const struct turn *turn, struct header *now)
{
    int error = turn_lock_records(turn);
    if (error != 0)
        return error;
    error = live_load_to_commit(f, now);
    if (error == 0)
        error = flush_begin(f, now);
    turn_unlock_records(turn);
    return error;
}

/* Holds LOCK_RECORDS. */
static int commit(const bloomfile *f, int body_error)
{
    struct header now;
    int error = live_load_to_commit(f, &now);
    if (error != 0)
        return error;
    if (body_error != 0)
        return live_poison(f, &now, body_error); /* sync 4: told, it poisons */
    /* sync 5: the counts, and the mark away. */
    struct kernel_change counted = session_take(f->session, now.record.sequence);
    error = flush_end(f, &now, live_add_counts(&now, now.record, &counted));
    session_taken(f->session, error == 0);
    return error;
}

static int end(const bloomfile *f, const struct turn *turn, int body_error)
{
    int error = turn_lock_records(turn);
    return error != 0 ? error : commit(f, body_error);
}

int flush_and_commit(const bloomfile *f)
{
    struct header now;
    struct turn turn;
    int error = turn_take(&turn, f); /* sync 1: one writer at a time */
    if (error == 0)
        error = begin(f, &turn, &now);
    if (error == 0) {
        int body_error = flush_body(f, &now);
        error = end(f, &turn, body_error);
        if (body_error != 0)
            error = body_error;
    }
    turn_end(&turn);
    return error == 0 && live_in_doubt(f) ? BLOOMFILE_EPOISONED : error;
}

/* Nobody is syncing: a mark belongs to a writer that is gone, and the kernel may have told it what
 * it did not tell us. */
static int check_mark(const bloomfile *f)
{
    struct header now;
    int error = live_load(f, &now);
    if (error != 0)
        return error;
    const bool begun =
        now.record.state == BLOOMFILE_LIVE && (now.record.flags & RECORD_SYNC_BEGUN) != 0;
    if (begun && !f->accept_unclean) {
        guard_distrust(f->guard, BLOOMFILE_EUNCLEAN);
        return BLOOMFILE_EUNCLEAN;
    }
    return live_in_doubt(f) ? BLOOMFILE_EPOISONED : 0;
}

static bool will_pass(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* It gets the means to poison before it asks, because the kernel tells it only once. */
int flush_as_reader(const bloomfile *f)
{
    struct turn turn;
    int error = turn_read(&turn, f);
    if (will_pass(turn.refused))
        error = turn.refused;
    if (error == 0) {
        error = file_flush(f->fd);
        error = error != 0 ? live_poison_as_reader(f, turn.fd, error) : check_mark(f);
    }
    turn_end(&turn);
    return error;
}
