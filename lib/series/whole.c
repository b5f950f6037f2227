/* SPDX-License-Identifier: MIT
 * What is done to each layer in turn. */
#include <bloomfile_combine.h>
#include <string.h>

#include "handle/changed.h"
#include "handle/join.h"
#include "handle/live.h"
#include "handle/sync.h"
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

/* Of a series that forgets, a newer generation may have the name of an older one by now. */
static int check_paths(const struct layers *l, bool forgets)
{
    int error = 0;
    for (size_t i = forgets ? l->count - 1 : 0; i < l->count && error == 0; i++)
        error = join_check_path(l->list[i]);
    return error;
}

static int sync_layers(const struct layers *l, bool forgets)
{
    int error = join_writable(layers_newest(l));
    for (size_t i = l->count; i-- > 0 && error == 0;)
        error = sync_layer(l->list[i]);
    return error != 0 ? error : check_paths(l, forgets);
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
        error = sync_layers(l, f->series->generations != 0);
        const bool moved = error == BLOOMFILE_EREPLACED && live_succeeded(layers_newest(l));
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

/* Of a layer that has a path. The next generation gets the name of the oldest before it is said to
 * be there. */
static bool is_moving(const bloomfile *f, const bloomfile *newest)
{
    const struct series *s = f->series;
    if (!s->live)
        return false;
    return live_succeeded(newest) ||
           (s->generations != 0 && files_look(s, &newest->header, newest->header.layer + 1) == 0);
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
        stale = changed_is_stale(l->list[i]);
    stale = stale && !(all && is_moving(f, layers_newest(l)));
    layers_leave(f, l);
    return stale;
}
