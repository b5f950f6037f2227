/* SPDX-License-Identifier: MIT
 * All layers, then whether there are more of them by now. */
#include "series/lookup.h"

#include <string.h>

#include "handle/doubt.h"
#include "handle/live.h"
#include "handle/lookup.h"
#include "series/series.h"
#include "series/writers.h"

#define CHUNK 256

/* ---- layers that have come since */

static int find(const bloomfile *f, const struct layers *seen)
{
    struct series *s = f->series;
    struct layers *next = NULL;
    if (s->path == NULL)
        return BLOOMFILE_ELAYER; /* that of the parent of this process */
    int error = writers_find(f, seen, &next);
    if (error == 0)
        layers_replace(f, next);
    return error;
}

int lookup_follow(const bloomfile *f, const struct layers *seen)
{
    struct series_process *p = f->series->process;
    pthread_mutex_lock(&p->finding);
    const bool changed = atomic_load(&f->series->now) != seen;
    int error = changed ? 0 : find(f, seen);
    pthread_mutex_unlock(&p->finding);
    if (error != 0) {
        int none = 0;
        atomic_compare_exchange_strong(&f->guard->error, &none, error);
    }
    return error;
}

int lookup_enter_all(const bloomfile *f, const struct layers **out)
{
    for (;;) {
        *out = layers_enter(f);
        if (!f->series->live || !live_succeeded(layers_newest(*out)))
            return 0;
        layers_leave(f);
        int error = lookup_follow(f, *out);
        if (error != 0)
            return error;
    }
}

static bool is_newest(const bloomfile *layer)
{
    return layer->live == NULL || !live_succeeded(layer);
}

/* ---- one */

static bool one(const struct layers *l, uint64_t digest)
{
    for (size_t i = l->count; i-- > 0;)
        l->list[i]->kernel->expect(&l->list[i]->view, &digest, 1);
    for (size_t i = l->count; i-- > 0;)
        if (lookup(l->list[i], digest, lookup_in_doubt))
            return true;
    return false;
}

bool series_contains(const bloomfile *f, uint64_t digest)
{
    for (;;) {
        const struct layers *l = layers_enter(f);
        const bool hit = one(l, digest), known = hit || is_newest(layers_newest(l));
        layers_leave(f);
        if (known)
            return hit;
        if (lookup_follow(f, l) != 0)
            return true;
    }
}

/* ---- many */

size_t lookup_absent(const struct layers *l, size_t from, size_t to, const uint64_t *digests,
                     size_t *at, uint64_t *absent, size_t n)
{
    bool hits[ADDING_MOST];
    for (size_t i = 0; i < n; i++) {
        absent[i] = digests[i];
        at[i] = i;
    }
    for (size_t i = to; i-- > from && n > 0;) {
        if (lookup_many(l->list[i], absent, n, hits, lookup_many_in_doubt) == 0)
            continue;
        size_t left = 0;
        for (size_t j = 0; j < n; j++) {
            absent[left] = absent[j];
            at[left] = at[j];
            left += !hits[j];
        }
        n = left;
    }
    return n;
}

static void expect(const struct layers *l, const uint64_t *digests, size_t n)
{
    for (size_t i = 0; i + 1 < l->count; i++)
        l->list[i]->kernel->expect(&l->list[i]->view, digests, n);
}

static size_t chunk(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    uint64_t absent[CHUNK];
    size_t at[CHUNK];
    for (;;) {
        const struct layers *l = layers_enter(f);
        expect(l, digests, n < 16 ? n : 16);
        const size_t left = lookup_absent(l, 0, l->count, digests, at, absent, n);
        const bool known = left == 0 || is_newest(layers_newest(l));
        layers_leave(f);
        if (!known && lookup_follow(f, l) != 0)
            return doubt_all_maybe(n, hits);
        if (!known)
            continue;
        if (hits != NULL)
            memset(hits, true, n);
        for (size_t i = 0; hits != NULL && i < left; i++)
            hits[at[i]] = false;
        return n - left;
    }
}

size_t series_contains_many(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    size_t found = 0;
    for (size_t start = 0; start < n; start += CHUNK)
        found += chunk(f, digests + start, n - start < CHUNK ? n - start : CHUNK,
                       hits != NULL ? hits + start : NULL);
    return found;
}
