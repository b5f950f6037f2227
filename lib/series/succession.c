/* SPDX-License-Identifier: MIT
 * Making the next layer: first its file and name, then the successor bit in the layer before, then
 * adds. So if a lookup misses a key whose add has returned, it sees the bit, and opens the new file
 * (live.md 9.3). */
#include "series/succession.h"
#include "format/invalid.h"

#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "handle/creating.h"
#include "handle/opening.h"
#include "image/params.h"
#include "live/join.h"
#include "live/protocol_lock.h"
#include "live/records.h"
#include "os/file.h"
#include "series/files.h"
#include "sizing/sizing.h"

/* ---- the parameters of the next layer: live.md 9.4. The factors 2 and 7/8 were chosen with
 * bench/growth.py */

static const double tightening = 7.0 / 8;

static uint64_t now(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_REALTIME, &t) == 0 && t.tv_sec > 0 ? (uint64_t)t.tv_sec : 1;
}

int succession_first(const struct bloomfile_params *given, uint64_t identity, struct header *h)
{
    struct bloomfile_params p = *given;
    const bool grows = p.series == BLOOMFILE_SERIES_GROW;
    const double fpr = p.fpr != 0 ? p.fpr : SIZING_DEFAULT_FPR;
    if (layout_of(p.layout)->counts)
        return invalid(BLOOMFILE_EVALUE, "layout");
    if (p.series > HEADER_MOST_LAYERS)
        return invalid(BLOOMFILE_EVALUE, "series");
    if (grows && (p.bits != 0 || p.hashes != 0 || p.period != 0))
        return invalid(BLOOMFILE_EVALUE, p.bits != 0     ? "bits"
                                         : p.hashes != 0 ? "hashes"
                                                         : "period");
    if (p.capacity == 0)
        return invalid(BLOOMFILE_EVALUE, "capacity");
    if (p.bits == 0)
        p.fpr = grows ? fpr * (1 - tightening) : fpr / p.series;
    int error = creating_plan(&p, h);
    if (error != 0)
        return error;
    h->series = identity;
    h->generations = grows ? 0 : p.series;
    h->series_fpr = p.bits == 0 ? fpr : given->fpr;
    h->period = p.period;
    h->began = p.period != 0 ? now() : 0;
    creating_describe(h);
    return 0;
}

static int plan_larger(const struct header *from, struct header *h)
{
    struct bloomfile_params p = BLOOMFILE_PARAMS_INIT;
    p.layout = from->layout;
    p.capacity = 2 * from->capacity;
    p.fpr = tightening * from->fpr;
    if (p.capacity > GEOMETRY_MAX_CAPACITY)
        return BLOOMFILE_EUNREACHABLE;
    int error = params_plan(&p, 0, GEOMETRY_FILE_HEADER, h);
    if (error != 0)
        return error;
    struct header sized = *h;
    *h = *from;
    h->m = h->m_unfolded = sized.m;
    h->k = sized.k;
    h->capacity = sized.capacity;
    h->fpr = sized.fpr;
    return 0;
}

/* When the next generation begins. If several periods have passed, a generation is made for each,
 * one after the other, but no more than the series keeps. */
static uint64_t beginning(const struct header *from)
{
    const uint64_t time = now();
    if (from->period == 0)
        return 0;
    if (time < from->began || time - from->began < from->period)
        return time; /* full before its period is over, or the clock was ahead when it began */
    const uint64_t gone = (time - from->began) / from->period;
    const uint64_t skipped = gone > from->generations ? gone - from->generations : 0;
    return from->began + (skipped + 1) * from->period;
}

bool succession_is_due(const bloomfile_filter *layer)
{
    struct timespec t;
    const struct header *h = &layer->header;
    if (h->period == 0 || clock_gettime(CLOCK_REALTIME_COARSE, &t) != 0 || t.tv_sec <= 0)
        return false;
    return header_is_over(h, (uint64_t)t.tv_sec);
}

/* Plans the next layer, with a copy of this layer's watermark. That watermark is final: once the
 * file of the next layer exists, no sync commits another to this layer (files_check_newest()). */
static int plan_next(const bloomfile_filter *newest, struct header *h)
{
    const struct header *from = &newest->header;
    struct header now;
    int error = live_load_to_commit(newest, &now);
    if (error != 0)
        return error;
    *h = *from;
    if (from->generations == 0)
        error = plan_larger(from, h);
    memcpy(h->record.watermark, now.record.watermark, sizeof h->record.watermark);
    h->layer = from->layer + 1;
    h->began = beginning(from);
    h->provenance = 0;
    if (error == 0)
        creating_describe(h);
    return error;
}

/* ---- its file */

/* grow 4: the file is on disk before it has its name, so that a power loss cannot leave a torn
 * layer. */
static int make_file(const struct series *s, struct header *h)
{
    char *path = files_path(s, h->layer);
    if (path == NULL)
        return ENOMEM;
    const bool replaces = s->generations != 0 && h->layer >= s->generations;
    int error = creating_layer(path, s->path, h, replaces);
    free(path);
    if (error != 0)
        files_blame(s, BLOOMFILE_REASON_NONE, h->layer, error);
    return error == EEXIST ? BLOOMFILE_ESERIES : error;
}

/* A writer that opened the file by another name would look for the next layer under that name, and
 * make a second next layer. */
static int check_only_name(const struct series *s, const bloomfile_filter *layer)
{
    struct stat status;
    int error = file_stat(layer->live->fd, &status);
    if (error != 0 || status.st_nlink == 1)
        return error;
    return files_blame(s, BLOOMFILE_REASON_HARD_LINK, layer->header.layer, EMLINK);
}

/* A file that is a mount point also has a name in another folder, where the new layer would be
 * missing. So the names of the first, the newest and the next layer must not be mount points. */
static int check_mounts_of_next(const struct series *s, uint64_t newest)
{
    int error = files_check_mount(s, 0);
    if (error == 0)
        error = files_check_mount(s, newest);
    return error == 0 ? files_check_mount(s, newest + 1) : error;
}

/* If another series has the first name now, a new layer next to it would make that series
 * invalid. */
static int check_place(const struct series *s, const struct layers *l)
{
    int error = s->generations == 0 ? join_check_path(l->list[0]) : 0;
    if (error == 0)
        error = join_check_path(layers_newest(l));
    if (error == 0)
        error = check_only_name(s, layers_newest(l));
    return error == 0 ? check_mounts_of_next(s, layers_newest(l)->header.layer) : error;
}

/* A dangling symbolic link also occupies the name. */
static int check_free(const struct series *s, const struct header *like, uint64_t layer)
{
    const int error = files_check_free(s->path, layer);
    if (error == BLOOMFILE_ESERIES && files_look(s, like, layer) == ENOENT)
        files_blame(s, BLOOMFILE_REASON_MISSING, layer, error);
    return error;
}

/* Checks the name after the next. If it is taken or impossible, the series could not be opened once
 * the next layer exists. */
static int check_next_free(const struct series *s, const struct header *like)
{
    const uint64_t next = like->layer + 1;
    const bool grows = s->generations == 0;
    int error = grows || next < s->generations ? check_free(s, like, next) : 0;
    if (error == 0 && grows && next + 1 < HEADER_MOST_LAYERS)
        error = check_free(s, like, next + 1);
    return error;
}

static int see_to_file(const struct series *s, const struct layers *l)
{
    struct header h;
    const bloomfile_filter *newest = layers_newest(l);
    int error = check_place(s, l);
    if (error != 0)
        return error;
    /* grow 3: the file may exist already, if its creator was killed before it set the bit */
    error = files_look(s, &newest->header, newest->header.layer + 1);
    if (error == 0) /* grow 5: write its name to disk */
        return file_flush_directory(s->path);
    if (error != ENOENT)
        return error;
    error = check_next_free(s, &newest->header);
    if (error == 0)
        error = plan_next(newest, &h);
    return error != 0 ? error : make_file(s, &h);
}

/* A layer in memory has no name, so children of fork() cannot open it. */
static int make_in_memory(const bloomfile_filter *f, const struct layers *l, struct layers **out)
{
    struct header h;
    bloomfile_filter *layer;
    const uint32_t generations = f->series->generations;
    if (!f->series->process->own)
        return BLOOMFILE_EMISSINGLAYER;
    struct layers *next = layers_copy(l, 1);
    if (next == NULL)
        return ENOMEM;
    int error = plan_next(layers_newest(l), &h);
    if (error == 0)
        error = creating_memory(&layer, &h, f->series->flags);
    if (error != 0) {
        free(next);
        return error;
    }
    next->list[next->count++] = layer;
    if (generations != 0 && next->count > generations)
        memmove(next->list, next->list + 1, --next->count * sizeof next->list[0]);
    *out = next;
    return 0;
}

/* ---- the successor bit */

static int mark(const bloomfile_filter *newest, const struct protocol_lock *lock)
{
    struct header now;
    int error = live_load_to_commit(newest, &now);
    if (error == 0) /* grow 6: wait until no exact adder is adding */
        error = session_lock_stripes(newest->live->session, lock->fd);
    if (error != 0)
        return error;
    /* grow 7: the successor bit. */
    struct record next = now.record;
    next.flags |= RECORD_SUCCEEDED;
    error = live_commit(newest, &now, next);
    session_unlock_stripes(newest->live->session, lock->fd);
    return error;
}

/* The caller holds LOCK_RECORDS, so that only one process makes the file. */
static int make_next(const bloomfile_filter *f, const struct layers *l,
                     const struct protocol_lock *lock)
{
    const bloomfile_filter *newest = layers_newest(l);
    struct layers *next = NULL;
    if (live_succeeded(newest))
        return 0;
    int error = f->series->path != NULL ? see_to_file(f->series, l) : make_in_memory(f, l, &next);
    if (error == 0)
        error = mark(newest, lock);
    if (error == 0 && next != NULL)
        layers_replace(f, next);
    else if (next != NULL)
        layers_free(next, l);
    return error;
}

/* grow 1: make the successor bit of the layer before durable. Otherwise a power loss might leave
 * three layers of which the first lacks the bit, which looks like an old copy (check_marks()). */
static int make_mark_durable(const bloomfile_filter *before)
{
    struct protocol_lock lock;
    pthread_mutex_lock(&before->live->session->syncs);
    int error = join_open_own(before);
    if (error == 0) {
        error = protocol_lock_commit(&lock, before);
        if (error == 0)
            error = live_make_durable(before);
        protocol_lock_end(&lock);
    }
    pthread_mutex_unlock(&before->live->session->syncs);
    return error;
}

static int succeed_locked(const bloomfile_filter *f, const struct layers *l)
{
    const bloomfile_filter *newest = layers_newest(l);
    struct protocol_lock lock;
    int error = 0;
    if (l->count > 1 && f->series->path != NULL)
        error = make_mark_durable(l->list[l->count - 2]);
    if (error != 0)
        return error;
    pthread_mutex_lock(&newest->live->session->syncs);
    error = protocol_lock_commit(&lock, newest); /* grow 2: one process at a time */
    if (error == 0)
        error = make_next(f, l, &lock);
    protocol_lock_end(&lock);
    pthread_mutex_unlock(&newest->live->session->syncs);
    return error;
}

int succession(const bloomfile_filter *f, const struct layers *l)
{
    struct series_process *p = f->series->process;
    pthread_mutex_lock(&p->finding);
    const bool changed = layers_now(f) != l;
    p->report = (struct report){ 0 };
    int error = changed ? 0 : succeed_locked(f, l);
    p->report.error = error;
    pthread_mutex_unlock(&p->finding);
    return error;
}

int succession_settle(const bloomfile_filter *f, const struct layers *l)
{
    struct layers *before = l->count > 1 ? layers_copy(l, 0) : NULL;
    if (l->count < 2)
        return 0;
    if (before == NULL)
        return ENOMEM;
    before->count--;
    bloomfile_filter *last = layers_newest(before), *newest = layers_newest(l);
    int error = 0;
    if (newest->live->incomplete && !newest->live->writing) /* before it has this bit no longer */
        error = opening_join(newest, newest->live->fd, f->series->flags);
    if (error == 0 && !live_succeeded(last)) {
        error = last->live->writing ? 0 : opening_join(last, last->live->fd, f->series->flags);
        if (error == 0)
            error = succeed_locked(f, before);
    }
    free(before);
    return error;
}
