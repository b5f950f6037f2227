/* SPDX-License-Identifier: MIT
 * Operations on a series that visit each of its layers: sync, finish, close, status. */
#include <bloomfile_combine.h>
#include <string.h>

#include "handle/file_change.h"
#include "handle/sync.h"
#include "live/join.h"
#include "live/records.h"
#include "series/files.h"
#include "series/lookup.h"
#include "series/series.h"
#include "series/writers.h"

/* ---- syncing */

static bool is_clean(const bloomfile *layer)
{
    static const uint8_t clean[sizeof layer->header.record.boot_id];
    struct header now;
    return live_load(layer, &now) == 0 && now.record.state == BLOOMFILE_LIVE &&
           memcmp(now.record.boot_id, clean, sizeof clean) == 0;
}

static int sync_layer(const bloomfile *layer)
{
    int error = is_clean(layer) ? 0 : sync_source(layer);
    return error != 0 ? error : changed_or_damaged(layer);
}

static int sync_layers(const struct series *s, const struct layers *l)
{
    int error = join_writable(layers_newest(l));
    for (size_t i = l->count; i-- > 0 && error == 0;)
        error = sync_layer(l->list[i]);
    return error != 0 ? error : files_check_names(s, l);
}

int series_sync(bloomfile *f)
{
    const struct layers *l;
    if (!f->series->writing)
        return f->series->live ? BLOOMFILE_EREADONLY : BLOOMFILE_ESEALED;
    for (;;) {
        int error = lookup_enter_all(f, &l);
        if (error != 0)
            return error;
        error = sync_layers(f->series, l);
        const bool moved = error == 0 && join_check_path(layers_newest(l)) == BLOOMFILE_EREPLACED;
        layers_leave(f, l);
        if (!moved)
            return error;
    }
}

int series_finish(bloomfile *f)
{
    struct series *s = f->series;
    if (!s->writing)
        return s->finished;
    const struct layers *l = layers_enter(f);
    int error = atomic_load(&f->guard->error);
    for (size_t i = 0; i < l->count; i++) {
        int of_layer = l->list[i]->writing ? writers_leave(l->list[i]) : 0;
        error = error == 0 ? of_layer : error;
    }
    if (error == 0)
        error = files_check_names(s, l);
    layers_leave(f, l);
    s->writing = false;
    return s->finished = error;
}

void series_close(bloomfile *f)
{
    layers_close(f);
}

/* ---- looking */

int series_status(const bloomfile *f)
{
    const struct layers *l;
    int error = lookup_enter_all(f, &l);
    if (error != 0)
        return error;
    error = atomic_load(&f->guard->error);
    for (size_t i = 0; i < l->count && error == 0; i++)
        error = changed_or_damaged(l->list[i]);
    layers_leave(f, l);
    return error;
}

/* If a further layer cannot be opened, because its writer has died for example, the layers of a
 * growing series still tell: they keep their names. Those of generations do not. */
bool series_is_stale(const bloomfile *f)
{
    const struct layers *l;
    const bool all = lookup_enter_all(f, &l) == 0;
    if (!all && f->series->generations != 0)
        return true;
    if (!all)
        l = layers_enter(f);
    bool stale = false;
    for (size_t i = 0; i < l->count && !stale; i++)
        stale = changed_is_stale(l->list[i]) && !files_passed_on(f->series, l->list[i]);
    if (f->series->live && !stale)
        stale = files_check_names(f->series, l) == BLOOMFILE_EREPLACED;
    layers_leave(f, l);
    return stale;
}
