/* SPDX-License-Identifier: MIT
 * Syncing a live filter, and the end of writing to it. */
#include <bloomfile_live.h>

#include "handle/changed.h"
#include "handle/join.h"
#include "handle/sync.h"

int bloomfile_sync(bloomfile *f)
{
    int error = join_writable(f);
    if (error == 0)
        error = sync_source(f);
    if (error == 0)
        error = changed_or_damaged(f);
    return error != 0 ? error : join_check_path(f);
}

int bloomfile_finish(bloomfile *f)
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
