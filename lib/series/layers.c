/* SPDX-License-Identifier: MIT
 * The set is read by one atomic load. A growing series keeps all its layers, and so nothing is ever
 * taken away from under a lookup; a forgetting one closes a layer when no lookup is under way. */
#include "series/layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handle/app_hash.h"
#include "handle/opening.h"
#include "os/wiped.h"

/* ---- sets */

static struct layers *new_set(size_t count, size_t more)
{
    struct layers *l = calloc(1, sizeof *l + (count + more) * sizeof l->list[0]);
    if (l != NULL)
        l->count = count;
    return l;
}

struct layers *layers_copy(const struct layers *l, size_t more)
{
    struct layers *copy = new_set(l->count, more);
    if (copy != NULL)
        memcpy(copy->list, l->list, l->count * sizeof l->list[0]);
    return copy;
}

static bool has(const struct layers *l, const bloomfile *layer)
{
    for (size_t i = 0; l != NULL && i < l->count; i++)
        if (l->list[i] == layer)
            return true;
    return false;
}

void layers_free(struct layers *l, const struct layers *kept)
{
    for (size_t i = 0; i < l->count; i++)
        if (!has(kept, l->list[i]))
            opening_close(l->list[i]);
    free(l);
}

/* Those replaced, oldest first: a layer leaves the series once. */
static void free_replaced(struct layers *l)
{
    if (l->replaced != NULL) {
        free_replaced(l->replaced);
        layers_free(l->replaced, l);
        l->replaced = NULL;
    }
}

/* ---- the handle */

static int new_process(struct series_process **out)
{
    void *memory;
    int error = wiped_new(&memory, sizeof **out);
    *out = memory;
    if (error == 0)
        (*out)->own = true;
    return error;
}

static int new_series(struct series **out, const bloomfile *first, const char *path)
{
    struct series *s = calloc(1, sizeof *s);
    *out = s;
    if (s == NULL)
        return ENOMEM;
    s->live = first->live != NULL;
    s->generations = first->header.generations;
    if (path != NULL && (s->path = realpath(path, NULL)) == NULL)
        return errno;
    return new_process(&s->process);
}

/* Of the handle's own members lookups use none: it is always in doubt. */
static bloomfile *new_handle(const bloomfile *first)
{
    bloomfile *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    f->fd = -1;
    f->header = first->header;
    f->geometry = first->geometry;
    f->kernel = first->kernel;
    f->contains = first->contains;
    f->view.k = first->view.k;
    f->app_hash = first->app_hash;
    f->guard = &f->guard_storage;
    guard_doubt(f->guard);
    if (f->app_hash)
        app_hash_forget(f);
    return f;
}

int layers_start(bloomfile **out, bloomfile *first, const char *path, unsigned flags)
{
    bloomfile *f = new_handle(first);
    struct layers *l = new_set(1, 0);
    *out = NULL;
    int error = f == NULL || l == NULL ? ENOMEM : new_series(&f->series, first, path);
    if (error != 0) {
        opening_close(first);
        free(l);
        if (f != NULL && f->series != NULL)
            free(f->series->path);
        if (f != NULL)
            free(f->series);
        free(f);
        return error;
    }
    l->list[0] = first;
    f->series->flags = flags;
    atomic_init(&f->series->now, l);
    *out = f;
    return 0;
}

/* ---- use */

void layers_replace(const bloomfile *f, struct layers *next)
{
    next->replaced = atomic_load(&f->series->now);
    atomic_store_explicit(&f->series->now, next, memory_order_release);
}

void layers_tidy(const bloomfile *f)
{
    struct series *s = f->series;
    struct layers *now = atomic_load(&s->now), *unused = now->replaced;
    if (s->generations == 0 || unused == NULL || pthread_rwlock_trywrlock(&s->process->use) != 0)
        return;                              /* next time */
    pthread_rwlock_unlock(&s->process->use); /* whoever comes now gets the new set */
    free_replaced(unused);
    now->replaced = NULL;
    layers_free(unused, now);
}

void layers_close(bloomfile *f)
{
    struct series *s = f->series;
    struct layers *l = atomic_load(&s->now);
    free_replaced(l);
    layers_free(l, NULL);
    wiped_free(s->process, sizeof *s->process);
    free(s->path);
    free(s);
    guard_release(f->guard);
    free(f);
}
