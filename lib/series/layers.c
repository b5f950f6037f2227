/* SPDX-License-Identifier: MIT
 * The set of layers of a handle, read by one atomic load. A growing series never closes a layer. A
 * forgetting series closes a layer once all lookups that may use it have ended. */
#include "series/layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handle/closing.h"
#include "handle/opening.h"
#include "live/join.h"
#include "os/memory.h"
#include "os/path.h"

/* ---- sets */

/* Bytes of a set for each layer. */
#define LAYER_SIZE (sizeof(bloomfile_filter *) + sizeof(uint8_t *) + sizeof(struct kernel_view))

static struct layers *new_set(size_t count, size_t more)
{
    const size_t room = count + more;
    struct layers *l = calloc(1, sizeof *l + room * LAYER_SIZE);
    if (l == NULL)
        return NULL;
    l->count = count;
    l->headers = (const uint8_t **)(void *)&l->list[room];
    l->views = (struct kernel_view *)(void *)&l->headers[room];
    return l;
}

struct layers *layers_copy(const struct layers *l, size_t more)
{
    struct layers *copy = new_set(l->count, more);
    if (copy != NULL)
        memcpy(copy->list, l->list, l->count * sizeof l->list[0]);
    return copy;
}

static bool has_layer(const struct layers *l, const bloomfile_filter *layer)
{
    for (size_t i = 0; l != NULL && i < l->count; i++)
        if (l->list[i] == layer)
            return true;
    return false;
}

/* Fills in a set whose list is complete. before: the set that it replaces, or NULL. */
static void start_set(const bloomfile_filter *f, struct layers *l, const struct layers *before)
{
    for (size_t i = 0; i < l->count; i++) {
        bloomfile_filter *layer = l->list[i];
        l->views[l->count - 1 - i] = layer->view;
        if (layer->live != NULL)
            l->headers[l->count - 1 - i] = layer->live->header;
        if (!has_layer(before, layer))
            guard_join(layer->guard, f->guard);
    }
    for (size_t i = l->count; i-- > 1;) /* contains_any() gets all views, or all older views */
        l->views[i - 1].ignored |= l->views[i].ignored;
}

static void close_layer(bloomfile_filter *layer)
{
    guard_leave(layer->guard);
    handle_close(layer);
}

void layers_free(struct layers *l, const struct layers *kept)
{
    for (size_t i = 0; i < l->count; i++)
        if (!has_layer(kept, l->list[i]))
            close_layer(l->list[i]);
    free(l);
}

/* Frees sets, from the oldest up to `end`, and closes the layers that leave the series with them. A
 * set is unlinked before its layers are closed, so that a child of fork() never finds a half-closed
 * layer. */
static void free_until(struct series *s, const struct layers *end)
{
    while (s->oldest != end) {
        struct layers *l = s->oldest;
        s->oldest = l->newer;
        layers_free(l, l->newer);
    }
}

/* ---- the handle */

static int new_process(struct series_process **out)
{
    void *memory;
    int error = wipe_on_fork_new(&memory, sizeof **out);
    *out = memory;
    if (error == 0)
        (*out)->own = true;
    return error;
}

/* Records the path without links. A folder that has no path from the root is reached through a
 * descriptor; realpath() cannot resolve a symbolic link there, so a link is refused. */
static int note_path(struct series *s, const char *path)
{
    struct stat status;
    s->given = path_to_keep(path, &s->folder);
    if (s->given == NULL)
        return errno;
    if (s->folder >= 0 && lstat(s->given, &status) == 0 && S_ISLNK(status.st_mode))
        return EACCES;
    s->path = s->folder >= 0 ? strdup(s->given) : realpath(s->given, NULL);
    return s->path == NULL ? errno : 0;
}

static int new_series(struct series **out, const bloomfile_filter *first, const char *path)
{
    struct series *s = calloc(1, sizeof *s);
    *out = s;
    if (s == NULL)
        return ENOMEM;
    s->folder = -1;
    s->live = first->live != NULL;
    s->generations = first->header.generations;
    const int error = path != NULL ? note_path(s, path) : 0;
    return error != 0 ? error : new_process(&s->process);
}

static void free_series(struct series *s)
{
    if (s != NULL) {
        if (s->folder >= 0)
            close(s->folder);
        free(s->path);
        free(s->given);
        free(s->late);
    }
    free(s);
}

/* Makes the handle of a series. Its guard counts the doubts of all layers. */
static bloomfile_filter *new_handle(const bloomfile_filter *first)
{
    bloomfile_filter *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    f->folder = f->reader = -1;
    f->header = first->header;
    f->kernel = first->kernel;
    f->view.k = first->view.k;
    f->guard = &f->guard_storage;
    return f;
}

int layers_start(bloomfile_filter **out, bloomfile_filter *first, const char *path, unsigned flags)
{
    bloomfile_filter *f = new_handle(first);
    struct layers *l = new_set(1, 0);
    *out = NULL;
    int error = f == NULL || l == NULL ? ENOMEM : new_series(&f->series, first, path);
    if (error != 0) {
        handle_close(first);
        free(l);
        if (f != NULL)
            free_series(f->series);
        free(f);
        return error;
    }
    l->list[0] = first;
    start_set(f, l, NULL);
    f->series->flags = flags;
    f->series->oldest = l;
    atomic_init(&f->series->now, (uintptr_t)l);
    *out = f;
    return 0;
}

/* ---- use */

/* Users are counted by two counters, as in sleepable RCU. Each set has a side, 0 or 1, and a thread
 * that enters is counted on the side of the newest set. So the count of the other side can only
 * decrease, and reaches 0 however many threads keep entering. The side changes only if all existing
 * sets are on the same side. */
void layers_replace(const bloomfile_filter *f, struct layers *next)
{
    struct series *s = f->series;
    struct layers *last = layers_now(f);
    next->side = s->oldest->side == last->side ? 1 - last->side : last->side;
    last->newer = next;
    start_set(f, next, last);
    atomic_store(&s->now, (uintptr_t)next | next->side);
}

void layers_tidy(const bloomfile_filter *f)
{
    struct series *s = f->series;
    const struct layers *end = s->oldest;
    const unsigned side = s->oldest->side;
    if (s->generations == 0 || side == layers_now(f)->side ||
        atomic_load(&s->process->users[side]) != 0)
        return; /* next time */
    while (end->side == side)
        end = end->newer;
    free_until(s, end);
}

size_t layers_heap(const bloomfile_filter *f)
{
    const struct series *s = f->series;
    const struct layers *l = layers_now(f);
    size_t size = sizeof *f + sizeof *s + sizeof *l;
    size += l->count * LAYER_SIZE;
    size += s->path != NULL ? strlen(s->path) + 1 : 0;
    return size + (s->given != NULL ? strlen(s->given) + 1 : 0);
}

void layers_close(bloomfile_filter *f)
{
    struct series *s = f->series;
    free_until(s, NULL);
    wipe_on_fork_free(s->process, sizeof *s->process);
    free_series(s);
    guard_release(f->guard);
    free(f);
}
