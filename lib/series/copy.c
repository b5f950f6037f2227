/* SPDX-License-Identifier: MIT
 * Sealed copies of a series, which are one file, and rescue. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "combine/combine.h"
#include "format/invalid.h"
#include "image/params.h"
#include "os/file.h"
#include "os/host.h"
#include "os/path.h"
#include "os/thread.h"
#include "series/files.h"
#include "series/lookup.h"
#include "series/series.h"

/* The size of a sealed layer; the next layer begins header_layer_stride() after its start. */
static uint64_t image_size(const bloomfile_filter *layer)
{
    const struct header *h = &layer->header;
    return geometry_of(h->layout, h->m, GEOMETRY_FILE_HEADER).image_size;
}

static uint64_t stride(const struct layers *l, size_t i)
{
    const bloomfile_filter *layer = l->list[i];
    return i + 1 < l->count ? header_layer_stride(&layer->header) : image_size(layer);
}

static void describe_layer(struct header *h, const struct layers *l, size_t i, uint64_t rest)
{
    h->series = h->period = h->began = 0;
    h->generations = 0;
    h->layers = (uint32_t)l->count;
    h->layer = i;
    h->rest_size = rest;
}

/* Reads the watermark before the first body, so that the copies have all keys that the watermark
 * covers. Only the last layer gets it. */
static int copy_layers(const struct layers *l, int fd, uint64_t size, struct bloomfile_metadata m)
{
    static const bytes32 none;
    uint64_t at = 0, link = 0;
    struct header newest;
    int error = source_describe(layers_newest(l), &newest);
    const uint8_t *watermark = m.watermark != NULL ? m.watermark : newest.record.watermark;
    for (size_t i = 0; i < l->count && error == 0; i++) {
        struct header h;
        error = source_describe(l->list[i], &h);
        describe_layer(&h, l, i, size - at);
        m.watermark = i + 1 == l->count ? watermark : none;
        metadata_put(&h, &m);
        h.link = link;
        if (error == 0)
            error = combine_copy(&h, l->list[i], destination_part(fd, at));
        link = h.crc | (uint64_t)h.record.body_crc << 32;
        at += stride(l, i);
    }
    return error;
}

/* The layer in slot 0 has the path that the series was opened by. It may be a newer generation,
 * which was opened by the path without links. A copy in place of a layer would make the series
 * unreadable. */
static int check_paths_of_layers(const struct destination *to, const struct series *s,
                                 const struct layers *l)
{
    int error = 0;
    for (size_t i = 0; i < l->count && error == 0; i++) {
        const bloomfile_filter *layer = l->list[i];
        const bool given = s->given != NULL && files_slot(s, layer->header.layer) == 0;
        error = source_check_path(to, layer, given ? s->given : layer->path);
        const bool own = to->only.exists && to->only.file.st_dev == layer->file.device &&
                         to->only.file.st_ino == layer->file.inode;
        if (error == 0 && own && s->live && (s->writing || l->count > 1))
            error = BLOOMFILE_EREPLACED;
    }
    return error;
}

static int copy_to_destination(const struct series *s, const struct layers *l,
                               const struct destination *to, uint64_t size,
                               const struct bloomfile_metadata *m)
{
    struct publication *p;
    int fd, error = new_image_publication(&p, to, size, false, &fd);
    if (error != 0)
        return error;
    error = check_paths_of_layers(to, s, l);
    if (error == 0)
        error = copy_layers(l, fd, size, *m);
    if (error == 0)
        return publish_finish(p);
    publish_abandon(p);
    return error;
}

int series_copy(const bloomfile_filter *f, struct destination to,
                const struct bloomfile_metadata *m)
{
    const struct layers *l;
    uint64_t size = 0;
    int error = source_destination(&to, &f, 1);
    if (error == 0)
        error = lookup_enter_all(f, &l);
    if (error != 0)
        return error;
    for (size_t i = 0; i < l->count; i++)
        size += stride(l, i);
    error = copy_to_destination(f->series, l, &to, size, m);
    layers_leave(f, l);
    return error;
}

/* ---- Rescue: makes a new live series, which cannot be opened before its first file has its
 * name. */

/* A layer of a rescue. All layers are complete on disk before any gets its name. */
struct rescued {
    char *path;
    struct publication *publication;
    struct stat file;
};

static int make_rescued(struct rescued *r, const struct series *to, const bloomfile_filter *layer,
                        uint64_t identity, bool succeeded, bool replace)
{
    const struct header *h = &layer->header;
    const uint64_t size = geometry_of(h->layout, h->m, GEOMETRY_FILE_HEADER).image_size;
    int fd;
    r->path = files_path(to, h->layer);
    int error = r->path == NULL ? ENOMEM : publish_start(&r->publication, r->path, replace, &fd);
    if (error == 0)
        error = allocate_file(fd, size, true);
    if (error == 0)
        error = rescue(destination_part(fd, 0), layer, identity, succeeded);
    if (error == 0)
        error = file_stat(fd, &r->file);
    return error != 0 ? error : file_flush(fd);
}

static bool has_its_name(const struct rescued *r)
{
    struct stat named;
    return stat(r->path, &named) == 0 && named.st_dev == r->file.st_dev &&
           named.st_ino == r->file.st_ino;
}

/* Gives the layers their names, the newest first. If one fails, removes the names given so far;
 * files that these have replaced are lost. The last error may come after the name was given: once
 * the first layer has its name, the series is complete. */
static int give_names(struct rescued *all, size_t count, bool replace)
{
    int error = 0;
    size_t i = count;
    while (i > 0 && error == 0) {
        struct publication *complete = all[--i].publication;
        all[i].publication = NULL;
        error = publish_finish(complete);
    }
    if (error == 0 || replace || has_its_name(&all[0]))
        return error;
    for (; i < count; i++)
        if (has_its_name(&all[i]))
            unlink(all[i].path);
    return error;
}

/* A file with the name of a later layer would be taken for that layer, and the series refused. */
static int check_further(const struct series *to, size_t count)
{
    const size_t end = to->generations != 0 ? to->generations : count + 1;
    int error = 0;
    for (size_t slot = count; slot < end && error == 0; slot++)
        error = files_check_free(to->path, slot);
    return error;
}

static int rescue_layers(const struct series *to, const struct layers *l, bool replace)
{
    uint64_t identity;
    sigset_t before;
    struct rescued *all = calloc(l->count, sizeof *all);
    int error = all == NULL ? ENOMEM : random_identity(&identity, sizeof identity);
    if (error == 0)
        error = check_further(to, l->count);
    /* The newest first, because its watermark must be read before the bodies of all layers. */
    for (size_t i = l->count; i-- > 0 && error == 0;)
        error = make_rescued(&all[i], to, l->list[i], identity, i + 1 < l->count, replace);
    signals_hold(&before); /* a signal to this thread must not leave half a series */
    if (error == 0)
        error = give_names(all, l->count, replace);
    signals_let_go(&before);
    for (size_t i = 0; i < l->count && all != NULL; free(all[i++].path))
        publish_abandon(all[i].publication);
    free(all);
    return error;
}

int series_rescue(const bloomfile_filter *f, const char *path, unsigned flags)
{
    if (path == NULL)
        return invalid(BLOOMFILE_EVALUE, "path");
    if ((flags & ~BLOOMFILE_TO_REPLACE) != 0)
        return invalid(BLOOMFILE_EFLAGS, "flags");
    if (!f->series->live)
        return BLOOMFILE_ESEALED;
    char *real = path_without_links(path), *copy = NULL;
    struct series to = { .generations = f->series->generations };
    if (real == NULL && (copy = strdup(path)) == NULL)
        return ENOMEM;
    to.path = real != NULL ? real : copy;
    const struct layers *l;
    int error = lookup_enter_all(f, &l);
    if (error == 0) {
        error = rescue_layers(&to, l, flags != 0);
        layers_leave(f, l);
    }
    free(real);
    free(copy);
    return error;
}
