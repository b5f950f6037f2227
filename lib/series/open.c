/* SPDX-License-Identifier: MIT
 * Opening and creating a series: the first layer, then all layers after it. */
#include <bloomfile_open.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "handle/closing.h"
#include "handle/creating.h"
#include "handle/lookup.h"
#include "handle/opening.h"
#include "image/body.h"
#include "live/file_change.h"
#include "live/join.h"
#include "os/file.h"
#include "os/host.h"
#include "os/path.h"
#include "series/files.h"
#include "series/lookup.h"
#include "series/removal.h"
#include "series/series.h"
#include "series/succession.h"
#include "series/writers.h"

/* ---- the handle */

/* A series never has the counting layout, and is sealed only by copying. */
static int refuse_remove_from_series(bloomfile_filter *f, uint64_t digest)
{
    (void)f;
    (void)digest;
    return BLOOMFILE_ENOTCOUNTING;
}

static int refuse_seal_of_series(bloomfile_filter *f, const uint8_t *watermark)
{
    (void)f;
    (void)watermark;
    return BLOOMFILE_EISSERIES;
}

static const struct handle_operations operations = {
    .add = series_add,
    .remove = refuse_remove_from_series,
    .sync = series_sync,
    .finish = series_finish,
    .seal = refuse_seal_of_series,
    .copy = series_copy,
    .rescue = series_rescue,
    .status = series_status,
    .recheck = series_recheck,
    .is_stale = series_is_stale,
    .info = series_info,
    .measure = series_measure,
    .verify = series_verify,
    .images = series_images,
    .close = series_close,
};

/* Like layers_start(). */
static int start_series(bloomfile_filter **out, bloomfile_filter *first, const char *path,
                        const struct opening *how)
{
    const int error = layers_start(out, first, path, how->flags);
    if (error != 0)
        return error;
    (*out)->operations = &operations;
    lookup_start_layers(*out, how->named);
    return 0;
}

static void note_report(const struct opening *how, struct report report)
{
    if (how->report != NULL)
        *how->report = report;
}

/* Refuses a layer that is not the first of its series. */
static int refuse_part(bloomfile_filter *layer, const struct opening *how)
{
    const struct header *h = &layer->header;
    struct report report = { .reason = BLOOMFILE_REASON_NOT_NEXT, .layer = h->layer };
    if (h->layers == 0) { /* in a file of its own */
        report.reason = BLOOMFILE_REASON_NOT_FIRST;
        report.slot = h->generations != 0 ? h->layer % h->generations : h->layer;
    }
    note_report(how, report);
    handle_close(layer);
    return BLOOMFILE_ESERIES;
}

/* ---- live */

static int find_other_layers(bloomfile_filter *f)
{
    struct series *s = f->series;
    struct layers *first = layers_now(f), *all;
    s->writing = (s->flags & BLOOMFILE_OPEN_WRITE) != 0;
    int error = writers_find(f, first, &all);
    if (error != 0)
        return error;
    layers_replace(f, all);
    error = s->writing ? writers_clean(all, 0, s->flags) : 0;
    /* The caller has accepted the layers of this moment. */
    s->flags &= ~(unsigned)BLOOMFILE_OPEN_ACCEPT_UNCLEAN;
    return error;
}

static int opened(bloomfile_filter **out, bloomfile_filter *f, int error)
{
    *out = error == 0 ? f : NULL;
    if (error != 0 && f != NULL)
        layers_close(f);
    return error;
}

int series_open_live(bloomfile_filter **out, const char *path, const struct opening *how)
{
    bloomfile_filter *f, *first = *out;
    const struct header *h = &first->header;
    const bool fits = h->generations != 0 ? h->layer % h->generations == 0 : h->layer == 0;
    if (!fits)
        return opened(out, NULL, refuse_part(first, how));
    int error = start_series(&f, first, path, how);
    if (error != 0)
        return opened(out, NULL, error);
    error = find_other_layers(f);
    if (error != 0)
        note_report(how, f->series->process->report);
    return opened(out, f, error);
}

/* Refuses files with the names of later layers, except those that will be removed first. */
static int check_names(const char *path, const struct header *h, const struct removal *old)
{
    char *real = path_without_links(path);
    const unsigned end = h->generations > 2 ? h->generations : 2;
    int error = 0;
    for (unsigned slot = 1; slot < end && error == 0; slot++)
        if (!removal_has(old, slot))
            error = files_check_free(real != NULL ? real : path, slot);
    free(real);
    return error;
}

static int remove_others(const void *old)
{
    return removal_of_others(old);
}

/* Replaces an existing series of that name: removes all its layers but the first, which the new
 * file replaces. A file that cannot be read may be a series with writers, and is not replaced. */
static int replace(bloomfile_filter **first, const char *path, struct header *h, unsigned flags)
{
    struct removal old;
    int error = removal_find(&old, path);
    if (old.series && error < 0 && error != BLOOMFILE_EREPLACED)
        error = BLOOMFILE_ESERIES; /* a file that is not a layer has the name of one */
    if (!old.series && (error < 0 || error == ENOENT)) {
        removal_end(&old);
        error = 0;
    }
    if (error == 0)
        error = check_names(path, h, &old);
    if (error == 0)
        error = creating_after(first, path, h, flags, remove_others, &old);
    removal_end(&old);
    return error;
}

/* Checks the first name before the others: for an existing series the caller must get EEXIST, not
 * an error for the name of a later layer. */
static int create(bloomfile_filter **first, const char *path, struct header *h, unsigned flags)
{
    const struct removal none = { 0 };
    struct stat status;
    if (path == NULL)
        return creating_memory(first, h, flags);
    if ((flags & BLOOMFILE_TO_REPLACE) != 0)
        return replace(first, path, h, flags);
    int error = stat(path, &status) == 0 ? EEXIST : check_names(path, h, &none);
    return error != 0 ? error : creating_file(first, path, h, flags);
}

/* Returns whether the rates of full layers of the given size add up to more than twice the
 * target. */
static bool is_too_small(const struct header *h)
{
    struct header each = *h;
    if (h->generations == 0 || h->series_fpr <= 0)
        return false;
    each.fpr = h->series_fpr / h->generations;
    return image_most_keys(&each) < h->capacity;
}

int series_create(bloomfile_filter **out, const char *path, const struct bloomfile_params *p,
                  unsigned flags)
{
    struct header h;
    uint64_t identity = 0;
    bloomfile_filter *first, *f = NULL;
    int error = random_identity(&identity, sizeof identity);
    if (error == 0)
        error = succession_first(p, identity, &h);
    if (error == 0 && (flags & BLOOMFILE_OPEN_OVER_CAPACITY) == 0 && is_too_small(&h))
        error = BLOOMFILE_EFULL;
    if (error == 0)
        error = create(&first, path, &h, flags);
    if (error != 0)
        return error;
    const unsigned writing = path != NULL ? BLOOMFILE_OPEN_WRITE : 0;
    const struct opening how = { .flags = (flags & ~BLOOMFILE_TO_REPLACE) | writing,
                                 .named = true };
    error = start_series(&f, first, path, &how);
    if (error == 0)
        f->series->writing = true;
    if (error == 0 && path != NULL)
        error = find_other_layers(f);
    return opened(out, f, error);
}

/* ---- sealed series: the layers follow each other in one file */

struct layer_place {
    int fd;
    const uint8_t *bytes; /* NULL: in the file */
    uint64_t start, at;   /* of the first layer; of this one */
    struct stat status;
};

static int open_at(bloomfile_filter **out, const struct layer_place *p, uint64_t size,
                   const struct opening *how)
{
    return p->bytes != NULL ? opening_memory(out, p->bytes + p->at, (size_t)size, how)
                            : opening_range(out, p->fd, &p->status, p->at, size, how);
}

static uint64_t link_of(const struct header *h)
{
    return h->crc | (uint64_t)h->record.body_crc << 32;
}

bool series_is_next(const struct header *before, const struct header *h)
{
    return header_is_layer(h) && files_same_series(h, before) && h->layer == before->layer + 1 &&
           h->link == link_of(before);
}

static int open_next(struct layers **l, struct layer_place *p, const struct opening *first)
{
    struct report report = { .reason = BLOOMFILE_REASON_FILE };
    const struct opening how = { .flags = first->flags, .named = true, .report = &report };
    const bloomfile_filter *last = layers_newest(*l);
    const struct header *before = &last->header;
    bloomfile_filter *next;
    const uint64_t stride = header_layer_stride(before);
    p->at += stride;
    int error = open_at(&next, p, before->rest_size - stride, &how);
    if (error == 0 && !series_is_next(before, &next->header)) {
        report.reason = BLOOMFILE_REASON_NOT_NEXT;
        handle_close(next);
        error = BLOOMFILE_ESERIES;
    }
    if (error != 0) {
        report.file_error = error;
        report.layer = before->layer + 1;
        report.image_offset = p->at - p->start;
        note_report(first, report);
        return error;
    }
    struct layers *more = layers_copy(*l, 1);
    if (more == NULL || changed_note_layer(next, (*l)->list[0]) != 0) {
        handle_close(next);
        free(more);
        return ENOMEM;
    }
    more->list[more->count++] = next;
    free(*l);
    *l = more;
    return 0;
}

/* Opens the layers after *out, the first layer. Takes ownership of it. */
static int open_rest(bloomfile_filter **out, struct layer_place *p, const struct opening *how)
{
    bloomfile_filter *f, *first = *out;
    const struct header *h = &first->header;
    if (h->layers == 0) {
        handle_close(first);
        return opened(out, NULL, BLOOMFILE_ELIVE);
    }
    if (h->layer != 0 || h->link != 0)
        return opened(out, NULL, refuse_part(first, how));
    int error = start_series(&f, first, NULL, how);
    if (error != 0)
        return opened(out, NULL, error);
    struct layers *known = layers_now(f), *l = layers_copy(known, 0);
    error = l == NULL ? ENOMEM : 0;
    while (error == 0 && l->count < h->layers)
        error = open_next(&l, p, how);
    if (error == 0)
        layers_replace(f, l);
    else if (l != NULL)
        layers_free(l, known);
    return opened(out, f, error);
}

int series_open_sealed(bloomfile_filter **out, int fd, uint64_t offset, const struct opening *how)
{
    struct layer_place p = { .fd = fd, .start = offset, .at = offset };
    if ((*out)->header.layers > 1) {
        int error = file_stat(fd, &p.status);
        if (error != 0) {
            handle_close(*out);
            return opened(out, NULL, error);
        }
    }
    return open_rest(out, &p, how);
}

/* The caller has checked the size against the first header. */
int series_open_memory(bloomfile_filter **out, const void *image, const struct opening *how)
{
    struct layer_place p = { .fd = -1, .bytes = image };
    return open_rest(out, &p, how);
}
