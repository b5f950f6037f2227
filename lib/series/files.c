/* SPDX-License-Identifier: MIT
 * Finding the files of a live series by their names: NAME, NAME.1, NAME.2 and so on. */
#include "series/files.h"

#include <bloomfile_open.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/bytes.h"
#include "handle/closing.h"
#include "handle/lookup.h"
#include "handle/opening.h"
#include "live/adding.h"
#include "live/file_change.h"
#include "live/join.h"
#include "live/records.h"
#include "os/file.h"
#include "os/path.h"

#ifndef SERIES_TRIES     /* fuzzers define it as less: no other process makes layers there */
#define SERIES_TRIES 100 /* searches, while other processes make layers */
#endif
#define AT_ONCE 10 /* searches before it begins to sleep between them */

char *files_path(const struct series *s, uint64_t layer)
{
    const uint64_t slot = files_slot(s, layer);
    char *path;
    if (slot == 0)
        return strdup(s->path);
    return asprintf(&path, "%s.%" PRIu64, s->path, slot) < 0 ? NULL : path;
}

bool files_same_series(const struct header *a, const struct header *b)
{
    return a->series == b->series && a->generations == b->generations && a->layers == b->layers &&
           a->period == b->period && a->series_fpr == b->series_fpr && a->layout == b->layout &&
           a->hash_id == b->hash_id && a->self_test == b->self_test && a->seed == b->seed &&
           ((a->compat ^ b->compat) & HEADER_COMPAT_KEYS) == 0 && a->key_kind == b->key_kind &&
           memcmp(a->tag, b->tag, sizeof a->tag) == 0 && strcmp(a->label, b->label) == 0;
}

/* ---- the file that caused an error */

static int give(const struct series *s, struct report report, int error)
{
    if (s->process != NULL)
        s->process->report = report;
    return error;
}

int files_blame(const struct series *s, int reason, uint64_t layer, int error)
{
    struct report r = { .reason = reason, .slot = files_slot(s, layer), .layer = layer };
    r.file_error = reason == BLOOMFILE_REASON_MISSING ? ENOENT : error;
    return give(s, r, error);
}

/* A missing layer. If the first file is a mount point, the other layers are in the folder that it
 * was mounted from; then reports the mount point. */
static int blame_missing(const struct series *s, uint64_t layer)
{
    if (files_check_mount(s, 0) != EMLINK)
        files_blame(s, BLOOMFILE_REASON_MISSING, layer, 0);
    return BLOOMFILE_EMISSINGLAYER;
}

static int blame_number(const struct series *s, uint64_t due, uint64_t found, int error)
{
    struct report r = { .reason = BLOOMFILE_REASON_WRONG_LAYER, .file_error = BLOOMFILE_ESERIES };
    r.slot = files_slot(s, due);
    r.layer = due;
    r.found = found;
    return give(s, r, error);
}

/* Checks that the file in r->slot, which has a valid header, is a layer of the series. Returns 0 or
 * BLOOMFILE_ESERIES. */
static int check_fits(const struct series *s, const struct header *like, const struct header *h,
                      struct report *r)
{
    r->layer = r->slot;
    r->found = h->layer;
    if (!header_is_layer(h) || h->series == 0)
        r->reason = BLOOMFILE_REASON_NOT_A_LAYER;
    else if (!files_same_series(h, like))
        r->reason = BLOOMFILE_REASON_OTHER_SERIES;
    else if (files_slot(s, h->layer) != r->slot)
        r->reason = BLOOMFILE_REASON_WRONG_LAYER;
    else
        return 0;
    return r->file_error = BLOOMFILE_ESERIES;
}

/* ---- one layer */

static int open_layer(const struct series *s, const struct header *like, uint64_t slot,
                      bloomfile_filter **out)
{
    struct report report = { .reason = BLOOMFILE_REASON_FILE, .slot = slot };
    const struct opening how = { .flags = s->flags, .named = true, .report = &report };
    *out = NULL;
    char *path = files_path(s, slot);
    if (path == NULL)
        return ENOMEM;
    int rest, error = opening_by_path(out, path, &how, &rest);
    free(path);
    if (rest >= 0)
        close(rest);
    if (error == BLOOMFILE_ESEALED) { /* for a reader, check_fits() returns the same error */
        report.reason = BLOOMFILE_REASON_NOT_A_LAYER;
        error = BLOOMFILE_ESERIES;
    }
    report.file_error = error;
    if (error == 0)
        error = check_fits(s, like, &(*out)->header, &report);
    if (error == 0 || error == ENOENT)
        return error;
    handle_close(*out);
    *out = NULL;
    return give(s, report, error);
}

/* Reads the header of a layer's file. If it is not a live layer of the series, fills *report. */
static int read_slot(const struct series *s, const struct header *like, uint64_t layer,
                     struct header *h, struct report *report)
{
    struct stat status;
    *report = (struct report){ .reason = BLOOMFILE_REASON_FILE, .slot = files_slot(s, layer) };
    char *path = files_path(s, layer);
    if (path == NULL)
        return ENOMEM;
    int fd, error = file_open(path, false, &fd);
    free(path);
    report->file_error = error;
    if (error != 0)
        return error;
    error = file_stat(fd, &status);
    if (error == 0)
        error = replaced_read_header(fd, (uint64_t)status.st_size, h);
    close(fd);
    report->file_error = error;
    if (error != 0)
        return error < 0 ? BLOOMFILE_ESERIES : error;
    return check_fits(s, like, h, report);
}

int files_look(const struct series *s, const struct header *like, uint64_t layer)
{
    struct header h;
    struct report report;
    const int error = read_slot(s, like, layer, &h, &report);
    if (error != 0 && error != ENOENT)
        return give(s, report, error);
    if (error != 0 || h.layer == layer)
        return error;
    if (s->generations != 0 && h.layer + s->generations == layer)
        return ENOENT;
    return blame_number(s, layer, h.layer, BLOOMFILE_ESERIES);
}

int files_check_newest(const bloomfile_filter *layer, const void *series)
{
    struct header h;
    struct report unused;
    const struct series *s = series;
    const uint64_t next = layer->header.layer + 1;
    if (live_succeeded(layer))
        return ADDING_SUCCEEDED;
    const int error = s->path != NULL ? read_slot(s, &layer->header, next, &h, &unused) : ENOENT;
    if (error == 0 && h.layer == next)
        return ADDING_SUCCEEDED;
    return error < 0 || error == ENOENT ? 0 : error; /* a file that is not a layer is ignored */
}

int files_check_free(const char *path, uint64_t slot)
{
    struct stat status;
    char *name;
    if (asprintf(&name, "%s.%" PRIu64, path, slot) < 0)
        return ENOMEM;
    const int error = lstat(name, &status) == 0 ? BLOOMFILE_ESERIES : errno;
    free(name);
    return error == ENOENT ? 0 : error;
}

/* ---- names */

int files_check_mount(const struct series *s, uint64_t layer)
{
    char *path = files_path(s, layer);
    if (path == NULL)
        return ENOMEM;
    const bool mounted = mount_is_point(AT_FDCWD, path);
    free(path);
    return mounted ? files_blame(s, BLOOMFILE_REASON_MOUNT_POINT, layer, EMLINK) : 0;
}

bool files_passed_on(const struct series *s, const bloomfile_filter *layer)
{
    struct header h;
    struct report unused;
    const uint64_t number = layer->header.layer;
    return s->live && s->generations != 0 && live_succeeded(layer) &&
           read_slot(s, &layer->header, number, &h, &unused) == 0 && h.layer > number &&
           files_slot(s, h.layer) == files_slot(s, number);
}

/* Checks the path given at opening, whose symbolic links may lead elsewhere now. Repeated, because
 * a new generation may take the name between the two calls of stat(). */
static int check_given(const struct series *s)
{
    struct stat given, own;
    for (int tries = 0; tries < AT_ONCE && strcmp(s->given, s->path) != 0; tries++) {
        if (stat(s->given, &given) != 0 || stat(s->path, &own) != 0)
            return file_name_is_gone(errno, -1) ? BLOOMFILE_EREPLACED : 0;
        if (given.st_dev == own.st_dev && given.st_ino == own.st_ino)
            return 0;
    }
    return strcmp(s->given, s->path) != 0 ? BLOOMFILE_EREPLACED : 0;
}

int files_check_names(const struct series *s, const struct layers *l)
{
    int error = s->path != NULL ? check_given(s) : 0;
    for (size_t i = 0; i < l->count && error == 0; i++) {
        error = join_check_path(l->list[i]);
        if (error == BLOOMFILE_EREPLACED && files_passed_on(s, l->list[i]))
            error = 0;
    }
    return error;
}

/* After a full search has failed, later searches make only one attempt; otherwise every lookup
 * would wait. */
static int tries_of(const struct series *s)
{
    return s->missing ? 1 : SERIES_TRIES;
}

static void wait_for_others(int tries)
{
    if (tries < AT_ONCE)
        sched_yield();
    else
        usleep(1000);
}

/* ---- growing series: opens slot after slot until a file is missing */

static struct layers *with(struct layers *l, bloomfile_filter *layer)
{
    struct layers *more = layers_copy(l, 1);
    if (more != NULL)
        more->list[more->count++] = layer;
    else
        handle_close(layer);
    return more;
}

static int find_next(const struct series *s, struct layers **l)
{
    bloomfile_filter *next;
    const uint64_t slot = (*l)->count;
    int error =
        slot < HEADER_MOST_LAYERS ? open_layer(s, &(*l)->list[0]->header, slot, &next) : ENOENT;
    if (error != 0)
        return error;
    struct layers *more = with(*l, next);
    if (more == NULL)
        return ENOMEM;
    free(*l);
    *l = more;
    return 0;
}

static int find_growing(const struct series *s, struct layers **l)
{
    int error = 0;
    for (int tries = 0; tries < tries_of(s);) {
        error = find_next(s, l);
        if (error == ENOENT && !live_succeeded(layers_newest(*l)))
            return 0;
        if (error != 0 && error != ENOENT)
            return error;
        if (error == ENOENT && ++tries < tries_of(s))
            wait_for_others(tries); /* the bit is set only after the successor has its name */
    }
    return blame_missing(s, (*l)->count);
}

/* ---- forgetting series: a ring of slots, in which a newer layer replaces an older one */

static bloomfile_filter *known_one(const struct series *s, const struct layers *known,
                                   uint64_t slot)
{
    for (size_t i = 0; i < known->count; i++)
        if (files_slot(s, known->list[i]->header.layer) == slot)
            return changed_is_stale(known->list[i]) ? NULL : known->list[i];
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = (*(bloomfile_filter *const *)a)->header.layer;
    const uint64_t y = (*(bloomfile_filter *const *)b)->header.layer;
    return (x > y) - (x < y);
}

/* Checks that the sorted list has exactly the layers that exist while `last` is the newest. */
static int check_numbers(const struct series *s, const struct layers *l, uint64_t last)
{
    const uint64_t due = last < s->generations ? last + 1 : s->generations;
    if (l->count == due && l->list[0]->header.layer + due == last + 1)
        return 0;
    for (uint64_t number = last + 1 - due; number <= last; number++) {
        const bloomfile_filter *there = NULL;
        for (size_t i = 0; i < l->count; i++)
            if (files_slot(s, l->list[i]->header.layer) == files_slot(s, number))
                there = l->list[i];
        if (there == NULL)
            return blame_missing(s, number);
        if (there->header.layer != number)
            return blame_number(s, number, there->header.layer, BLOOMFILE_EMISSINGLAYER);
    }
    return 0;
}

static int find_all(const struct series *s, const struct layers *known, struct layers *l)
{
    l->count = 0;
    for (uint64_t slot = 0; slot < s->generations; slot++) {
        bloomfile_filter *layer = known_one(s, known, slot);
        int error = 0;
        if (layer == NULL)
            error = open_layer(s, &known->list[0]->header, slot, &layer);
        if (error == 0)
            l->list[l->count++] = layer;
        else if (error != ENOENT)
            return error;
    }
    if (l->count == 0)
        return blame_missing(s, 0);
    qsort(l->list, l->count, sizeof l->list[0], by_number);
    const uint64_t last = layers_newest(l)->header.layer;
    int error = check_numbers(s, l, last);
    if (error == 0 && live_succeeded(layers_newest(l))) /* then its successor must exist */
        error = check_numbers(s, l, last + 1);
    return error;
}

static int find_forgetting(const struct series *s, const struct layers *known, struct layers **out)
{
    int error = BLOOMFILE_EMISSINGLAYER;
    for (int tries = 0; tries < tries_of(s) && error == BLOOMFILE_EMISSINGLAYER; tries++) {
        if (tries > 0)
            wait_for_others(tries);
        struct layers *l = layers_copy(known, s->generations);
        if (l == NULL)
            return ENOMEM;
        error = find_all(s, known, l);
        if (error == 0)
            *out = l;
        else
            layers_free(l, known);
    }
    return error;
}

/* ---- both */

/* Returns whether a layer has keys. Tests the bits as well as the record, which lacks the keys of
 * writers that have not committed. */
static bool layer_has_keys(const bloomfile_filter *layer)
{
    struct header now;
    if (live_load(layer, &now) == 0 && (now.record.n > 0 || now.record.ones > 0))
        return true;
    for (uint64_t at = 0; at < layer->geometry.body_size; at += 8)
        if (shared_load64(layer->view.body + at) != 0)
            return true;
    return false;
}

/* Keys are added to the newest layer only once all older layers have the successor bit. So an older
 * layer without the bit is an old copy of its file. Exception: a power loss may clear the bit of
 * the last layer but one, as long as the newest layer has no keys. If that layer has keys, and the
 * caller accepts an unclean series, the newest layer is unclean. */
static int check_marks(const struct series *s, const struct layers *l)
{
    const bool accepting = (s->flags & BLOOMFILE_OPEN_ACCEPT_UNCLEAN) != 0;
    /* The bit is read again after the test for keys: it is set before any key is added. */
    const bool all =
        l->count > 1 && !live_succeeded(l->list[l->count - 2]) && layer_has_keys(layers_newest(l));
    layers_newest(l)->live->incomplete = all && !live_succeeded(l->list[l->count - 2]);
    for (size_t i = 0; i + (all && !accepting ? 1 : 2) < l->count; i++)
        if (!live_succeeded(l->list[i]))
            return files_blame(s, BLOOMFILE_REASON_OLDER_COPY, l->list[i]->header.layer,
                               BLOOMFILE_ESERIES);
    return 0;
}

int files_find(const struct series *s, const struct layers *known, struct layers **out)
{
    struct layers *l = NULL;
    int error = 0;
    if (s->generations != 0)
        error = find_forgetting(s, known, &l);
    else if ((l = layers_copy(known, 0)) == NULL)
        error = ENOMEM;
    else
        error = find_growing(s, &l);
    if (error == 0)
        error = check_marks(s, l);
    if (error == 0)
        *out = l;
    else if (l != NULL)
        layers_free(l, known);
    return error;
}
