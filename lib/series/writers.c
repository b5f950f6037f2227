/* SPDX-License-Identifier: MIT
 * Joining and leaving the writers of a series' layers. */
#include "series/writers.h"

#include <errno.h>

#include "handle/opening.h"
#include "live/file_change.h"
#include "live/join.h"
#include "live/records.h"
#include "live/sync.h"
#include "series/files.h"
#include "series/succession.h"

#define TRIES 100 /* searches, while other processes replace layers */

/* Checked at opening, not when the last layer is full: no layer can follow a mount point. */
static int check_mounts(const struct series *s, const struct layers *l)
{
    int error = 0;
    for (size_t i = 0; s->path != NULL && i < l->count && error == 0; i++)
        error = files_check_mount(s, l->list[i]->header.layer);
    return error;
}

static int join(bloomfile_filter *layer, unsigned flags)
{
    return layer->live->writing ? 0 : opening_join(layer, layer->live->fd, flags);
}

int writers_find(const bloomfile_filter *f, const struct layers *known, struct layers **out)
{
    const struct series *s = f->series;
    for (int tries = 0; tries < TRIES; tries++) {
        struct layers *l = NULL;
        int error = files_find(s, known, &l);
        if (error != 0)
            return error;
        if (s->writing)
            error = check_mounts(s, l);
        if (error == 0 && s->writing)
            error = succession_settle(f, l);
        if (error == 0 && s->writing)
            error = join(layers_newest(l), s->flags);
        if (error == 0 && !(s->writing && changed_is_stale(layers_newest(l)))) {
            *out = l;
            return 0;
        }
        layers_free(l, known);
        if (error != 0)
            return error;
    }
    return EBUSY;
}

int writers_leave(bloomfile_filter *layer)
{
    const int error = sync_finish(layer);
    const bool moved = layer->header.generations != 0 && live_succeeded(layer);
    return error == BLOOMFILE_EREPLACED && moved ? 0 : error;
}

bool writers_left_clean(const bloomfile_filter *layer)
{
    struct header now;
    return live_load(layer, &now) == 0 && now.record.state == BLOOMFILE_STATE_LIVE &&
           header_is_clean(&now.record);
}

int writers_clean(const struct layers *l, uint64_t first, unsigned flags)
{
    int error = 0;
    for (size_t i = 0; i + 1 < l->count && error == 0; i++) {
        bloomfile_filter *layer = l->list[i];
        if (layer->header.layer < first || writers_left_clean(layer))
            continue;
        error = join(layer, flags);
        if (error == 0 && !layer->live->session->unclean)
            error = writers_leave(layer);
    }
    return error;
}

int writers_join_again(bloomfile_filter *layer)
{
    if (writers_left_clean(layer))
        return 0;
    layer->live->writing = true;
    return join_writable(layer);
}
