/* SPDX-License-Identifier: MIT
 * Syncing a live filter, the end of writing to it, and how it is. */
#include <bloomfile_live.h>

#include "handle/changed.h"
#include "handle/sync.h"
#include "series/layers.h"
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

static void recheck(const bloomfile *f)
{
    if (f->series == NULL) {
        guard_recheck(f->guard);
        return;
    }
    const struct layers *l = layers_enter(f);
    for (size_t i = 0; i < l->count; i++)
        guard_recheck(l->list[i]->guard);
    layers_leave(f, l);
}

int bloomfile_recheck(const bloomfile *f)
{
    const int error = bloomfile_status(f);
    if (error != 0)
        return error;
    recheck(f);
    return bloomfile_status(f);
}

int bloomfile_status(const bloomfile *f)
{
    const int error = f->series != NULL ? series_status(f) : changed_or_damaged(f);
    return error == 0 && atomic_load(&f->guard->unhashed) ? BLOOMFILE_EHASH : error;
}
