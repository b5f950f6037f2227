/* SPDX-License-Identifier: MIT
 * Syncing of one image: a writer commits, a reader does not. */
#include "handle/sync.h"

#include "handle/file_change.h"
#include "live/flush.h"
#include "live/join.h"

int sync_prepare(const bloomfile *f)
{
    if (live_in_doubt(f))
        return 0;
    pthread_mutex_lock(&f->session->syncs);
    int error = join_open_own(f);
    pthread_mutex_unlock(&f->session->syncs);
    return error;
}

int sync_source(const bloomfile *f)
{
    pthread_mutex_lock(&f->session->syncs);
    int error = join_open_own(f);
    if (error == 0)
        error = changed_or_damaged_so_far(f);
    if (error == 0)
        error = atomic_load(&f->session->joined) ? flush_and_commit(f) : flush_as_reader(f);
    pthread_mutex_unlock(&f->session->syncs);
    return error;
}

int sync_all(bloomfile *f)
{
    int error = join_writable(f);
    if (error == 0)
        error = sync_source(f);
    if (error == 0)
        error = changed_or_damaged(f);
    return error != 0 ? error : join_check_path(f);
}

int sync_finish(bloomfile *f)
{
    if (!f->writing)
        return f->finished;
    const int before = changed_or_damaged(f);
    int error = join_leave(f);
    f->writing = false;
    atomic_store(&f->session->joined, false);
    if (error == 0)
        error = before != 0 ? before : join_check_path(f);
    f->finished = error;
    return error;
}
