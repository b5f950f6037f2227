/* SPDX-License-Identifier: MIT
 * Syncing a live filter, the end of writing to it, and how it is. */
#include <bloomfile_live.h>

#include "handle/changed.h"
#include "handle/sync.h"
#include "series/series.h"

int bloomfile_sync(bloomfile *f)
{
    return f->series != NULL ? series_sync(f) : sync_all(f);
}

int bloomfile_finish(bloomfile *f)
{
    return f->series != NULL ? series_finish(f) : sync_finish(f);
}

bool bloomfile_is_stale(const bloomfile *f)
{
    return f->series != NULL ? series_is_stale(f) : changed_is_stale(f);
}

int bloomfile_status(const bloomfile *f)
{
    const int error = f->series != NULL ? series_status(f) : changed_or_damaged(f);
    return error == 0 && atomic_load(&f->guard->unhashed) ? BLOOMFILE_EHASH : error;
}
