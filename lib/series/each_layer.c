/* SPDX-License-Identifier: MIT
 * Operations on a series that visit each of its layers: sync, finish, close, status and
 * inspection. */
#include <bloomfile_combine.h>
#include <string.h>

#include "handle/inspection.h"
#include "live/adding.h"
#include "live/file_change.h"
#include "live/join.h"
#include "live/records.h"
#include "live/sync.h"
#include "os/memory.h"
#include "series/files.h"
#include "series/lookup.h"
#include "series/series.h"
#include "series/succession.h"
#include "series/writers.h"

/* ---- syncing */

static int sync_layer(bloomfile_filter *layer, const struct flush_mark *mark)
{
    int error = writers_join_again(layer);
    if (error == 0 && (mark != NULL || !writers_left_clean(layer)))
        error = sync_with(layer, mark);
    const int damage = changed_or_damaged(layer);
    return error != 0 ? error : damage;
}

/* Syncs the newest layer last: its watermark covers the keys of all layers, which must be on disk
 * first. Once the file of the next layer exists, a new watermark is recorded only there, because
 * that file was made with a copy of this layer's watermark. */
static int sync_layers(const struct series *s, const struct layers *l, const uint8_t *watermark)
{
    const struct flush_mark newest = { watermark, files_check_newest, s };
    int error = 0;
    for (size_t i = 0; i < l->count && error == 0; i++)
        error = changed_before_reading(l->list[i]);
    if (error == 0)
        error = join_writable(layers_newest(l));
    for (size_t i = 0; i < l->count && error == 0; i++)
        error = sync_layer(l->list[i], i + 1 == l->count && watermark != NULL ? &newest : NULL);
    return error != 0 ? error : files_check_names(s, l);
}

int series_sync(bloomfile_filter *f, const uint8_t *watermark)
{
    const struct layers *l;
    if (!f->series->writing)
        return f->series->live ? BLOOMFILE_EREADONLY : BLOOMFILE_ESEALED;
    for (;;) {
        int error = lookup_add_late(f);
        if (error == 0)
            error = lookup_enter_all(f, &l);
        if (error != 0)
            return error;
        error = sync_layers(f->series, l, watermark);
        bool moved = error == 0 && join_check_path(layers_newest(l)) == BLOOMFILE_EREPLACED;
        if (error == ADDING_SUCCEEDED) {
            error = succession(f, l);
            moved = error == 0;
        }
        layers_leave(f, l);
        if (!moved)
            return error;
    }
}

/* Joins the layers whose writers were killed, so that they become clean when this process leaves.
 * Does nothing in a child of fork() that has not joined the newest layer. Returns the first
 * error. */
static int join_dirty(const struct layers *l)
{
    int error = 0;
    const bool joined = atomic_load(&layers_newest(l)->live->session->joined);
    for (size_t i = 0; joined && i < l->count; i++) {
        const int of_layer = writers_join_again(l->list[i]);
        error = error == 0 ? of_layer : error;
    }
    return error;
}

/* Keys were found, and not added again, in layers that this handle has not joined. */
static int leave_layer(bloomfile_filter *layer)
{
    const int before = changed_or_damaged(layer);
    const int error = handle_is_writing(layer) ? writers_leave(layer) : 0;
    return before != 0 ? before : error;
}

int series_finish(bloomfile_filter *f)
{
    struct series *s = f->series;
    if (!s->writing)
        return s->finished;
    const int late = lookup_add_late(f);
    const struct layers *l = layers_enter(f);
    int error = atomic_load(&f->guard->error);
    const int joining = join_dirty(l);
    for (size_t i = 0; i < l->count; i++) {
        const int of_layer = leave_layer(l->list[i]);
        error = error == 0 ? of_layer : error;
    }
    if (error == 0)
        error = joining != 0 ? joining : late;
    if (error == 0)
        error = files_check_names(s, l);
    layers_leave(f, l);
    s->writing = false;
    return s->finished = error;
}

void series_close(bloomfile_filter *f)
{
    const struct layers *l = layers_now(f);
    if (f->series->writing && atomic_load(&layers_newest(l)->live->session->joined)) {
        lookup_add_late(f);
        join_dirty(layers_now(f));
    }
    layers_close(f);
}

/* ---- looking */

int series_damage(const bloomfile_filter *f)
{
    const struct layers *l = layers_enter(f);
    int error = 0;
    for (size_t i = 0; i < l->count && error == 0; i++)
        error = atomic_load_explicit(&l->list[i]->guard->error, memory_order_acquire);
    layers_leave(f, l);
    return error;
}

int series_status(const bloomfile_filter *f)
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

/* If a newer layer cannot be opened, for example because its writer died, the known layers of a
 * growing series can still be compared: they keep their names. Generations do not. */
bool series_is_stale(const bloomfile_filter *f)
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

void series_recheck(const bloomfile_filter *f)
{
    const struct layers *l = layers_enter(f);
    for (size_t i = 0; i < l->count; i++)
        guard_recheck(l->list[i]->guard);
    layers_leave(f, l);
}

/* ---- inspecting */

/* Adds the sizes and counts of a layer. Fields that are the same in all layers are those of the
 * first. */
static void add_info(struct bloomfile_info *sum, const struct bloomfile_info *layer)
{
    sum->bits += layer->bits;
    sum->bits_unfolded += layer->bits_unfolded;
    sum->body_size += layer->body_size;
    sum->image_size += layer->image_size;
    sum->pages += layer->pages;
    sum->capacity += layer->capacity;
    sum->keys += layer->keys;
    sum->ones += layer->ones;
    sum->bad_pages += layer->bad_pages;
    sum->heap_size += layer->heap_size;
    sum->mapped_size += layer->mapped_size;
    sum->mappings += layer->mappings;
    sum->descriptors += layer->descriptors;
    sum->keys_estimated |= layer->keys_estimated;
    sum->hashes = layer->hashes; /* this and below: of the newest layer */
    sum->sequence = layer->sequence;
    sum->writers = layer->writers;
    memcpy(sum->watermark, layer->watermark, sizeof sum->watermark);
    sum->layer = layer->layer;
    if (layer->state == BLOOMFILE_STATE_POISONED)
        sum->state = layer->state;
}

void series_info(const bloomfile_filter *f, struct bloomfile_info *sum)
{
    const struct layers *l = layers_enter(f);
    inspection_info(l->list[0], sum);
    for (size_t i = 1; i < l->count; i++) {
        struct bloomfile_info layer;
        inspection_info(l->list[i], &layer);
        add_info(sum, &layer);
    }
    sum->fpr = sum->series_fpr;
    sum->layers = (uint32_t)l->count;
    sum->heap_size += layers_heap(f);
    sum->mapped_size += wipe_on_fork_mapped(sizeof *f->series->process);
    sum->mappings++;
    sum->descriptors += f->series->folder >= 0;
    layers_leave(f, l);
}

int series_measure(const bloomfile_filter *f, struct bloomfile_measurement *m)
{
    const struct layers *l = layers_enter(f);
    double sure = 1; /* probability that no layer answers "maybe" for a key not in the set */
    uint64_t bits = 0;
    int error = 0;
    *m = (struct bloomfile_measurement){ 0 };
    for (size_t i = 0; error == 0 && i < l->count; i++) {
        struct bloomfile_measurement one = { 0 };
        error = inspection_measure(l->list[i], &one);
        m->ones += one.ones;
        m->keys_estimate += one.keys_estimate;
        sure *= 1 - one.fpr;
        bits += l->list[i]->header.m;
    }
    m->fill = (double)m->ones / (double)bits;
    m->fpr = 1 - sure;
    layers_leave(f, l);
    return error;
}

/* Checks all layers even if one is damaged, because the pages found good are not checked again by
 * lookups. */
int series_verify(const bloomfile_filter *f, unsigned threads, struct bloomfile_fault *fault)
{
    const struct layers *l = layers_enter(f);
    uint64_t start = 0;
    int first = 0;
    for (size_t i = 0; i < l->count; i++) {
        const bloomfile_filter *layer = l->list[i];
        struct bloomfile_fault found;
        const int error = layer->operations->verify(layer, threads, &found);
        if (error != 0 && first == 0) {
            first = error;
            found.offset += start;
            found.layer = layer->header.layer;
            if (fault != NULL)
                *fault = found;
        }
        start += header_layer_stride(&layer->header);
    }
    layers_leave(f, l);
    return first;
}

/* The set of layers of a sealed series never changes, so the list is valid after layers_leave(). */
int series_images(const bloomfile_filter *f, struct handle_images *images)
{
    if (f->series->live)
        return BLOOMFILE_ELIVE;
    const struct layers *l = layers_enter(f);
    layers_leave(f, l);
    *images = (struct handle_images){ .list = l->list, .count = l->count, .layers = true };
    return 0;
}
