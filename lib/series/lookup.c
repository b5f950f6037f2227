/* SPDX-License-Identifier: MIT
 * All layers, then whether there are more of them by now. */
#include "series/lookup.h"

#include "handle/doubt.h"
#include "handle/live.h"
#include "handle/lookup.h"
#include "series/series.h"
#include "series/writers.h"

/* ---- layers that have come since */

static int find(const bloomfile *f, const struct layers *seen)
{
    struct series *s = f->series;
    struct layers *next = NULL;
    if (s->path == NULL)
        return BLOOMFILE_ELAYER; /* that of the parent of this process */
    int error = writers_find(f, seen, &next);
    s->missing = error == BLOOMFILE_ELAYER;
    if (error == 0)
        layers_replace(f, next);
    return error;
}

int lookup_follow(const bloomfile *f, const struct layers *seen)
{
    struct series_process *p = f->series->process;
    pthread_mutex_lock(&p->finding);
    /* The set that was seen may be gone, and a newer one in its place in memory. */
    const bool is_seen = layers_now(f) == seen && live_succeeded(layers_newest(seen));
    int error = is_seen ? find(f, seen) : 0;
    layers_tidy(f);
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
        layers_leave(f, *out);
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

/* The bits of all layers first: the processor fetches their lines side by side. */
static bool one(const struct layers *l, uint64_t digest)
{
    for (size_t i = l->count; i-- > 0;) {
        const bloomfile *layer = l->list[i];
        if (guard_only_doubt(&layer->guard_storage) ? layer->contains(&layer->view, digest)
                                                    : lookup_in_doubt(layer, digest))
            return true;
    }
    for (size_t i = l->count; i-- > 0;)
        if (l->list[i]->live != NULL && live_in_doubt(l->list[i]))
            return true;
    return false;
}

bool series_contains(const bloomfile *f, uint64_t digest)
{
    for (;;) {
        const struct layers *l = layers_enter(f);
        /* grow 8: whether there is a newer one, after the bits. */
        const bool hit = one(l, digest), known = hit || is_newest(layers_newest(l));
        layers_leave(f, l);
        if (known)
            return hit;
        if (lookup_follow(f, l) != 0)
            return true;
    }
}

/* ---- many */

static size_t many(const bloomfile *layer, const uint64_t *digests, size_t n, bool *hits)
{
    if (!guard_only_doubt(&layer->guard_storage))
        return lookup_many_in_doubt(layer, digests, n, hits);
    if (layer->live != NULL)
        return lookup_many_live(layer, digests, n, hits);
    return layer->kernel->contains_many(&layer->view, digests, n, hits);
}

/* Moves those that were not found to the front. */
static size_t keep_absent(const uint64_t *digests, const bool *hits, size_t n, size_t *at,
                          uint64_t *absent)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        absent[left] = digests[i];
        at[left] = i;
        left += !hits[i];
    }
    return left;
}

/* Sets hits[i] for what a layer before `to` has. Returns how many of hits[] are set. */
static size_t ask(const struct layers *l, size_t to, const uint64_t *digests, size_t n, bool *hits)
{
    bool more[ADDING_MOST];
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += hits[i];
    while (to-- > 0 && found < n) {
        if (many(l->list[to], digests, n, more) == 0)
            continue;
        found = 0;
        for (size_t i = 0; i < n; i++)
            found += hits[i] |= more[i];
    }
    return found;
}

/* Where most keys are found in the newest and largest layer, only the others are asked for in the
 * older ones. */
static size_t ask_all(const struct layers *l, const uint64_t *digests, size_t n, bool *hits)
{
    uint64_t absent[ADDING_MOST];
    size_t at[ADDING_MOST];
    bool rest[ADDING_MOST] = { false };
    const size_t found = many(layers_newest(l), digests, n, hits);
    if (l->count == 1 || found == n)
        return found;
    if (found < n / 4)
        return ask(l, l->count - 1, digests, n, hits);
    const size_t left = keep_absent(digests, hits, n, at, absent);
    const size_t also = ask(l, l->count - 1, absent, left, rest);
    for (size_t i = 0; i < left; i++)
        hits[at[i]] = rest[i];
    return found + also;
}

size_t lookup_absent(const struct layers *l, const uint64_t *digests, size_t n, size_t *at,
                     uint64_t *absent)
{
    bool hits[ADDING_MOST] = { false };
    ask(l, l->count - 1, digests, n, hits);
    return keep_absent(digests, hits, n, at, absent);
}

static size_t chunk(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    for (;;) {
        const struct layers *l = layers_enter(f);
        const size_t found = ask_all(l, digests, n, hits);
        const bool known = found == n || is_newest(layers_newest(l));
        layers_leave(f, l);
        if (known)
            return found;
        if (lookup_follow(f, l) != 0)
            return doubt_all_maybe(n, hits);
    }
}

size_t series_contains_many(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    bool own[ADDING_MOST];
    size_t found = 0;
    for (size_t start = 0; start < n; start += ADDING_MOST)
        found += chunk(f, digests + start, n - start < ADDING_MOST ? n - start : ADDING_MOST,
                       hits != NULL ? hits + start : own);
    return found;
}
