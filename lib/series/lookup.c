/* SPDX-License-Identifier: MIT
 * Lookups and adds in a series. A lookup tries all layers, then looks for newer layers. */
#include "series/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handle/lookup.h"
#include "handle/unchecked.h"
#include "live/join.h"
#include "live/records.h"
#include "series/series.h"
#include "series/succession.h"
#include "series/writers.h"

/* ---- layers added since the set was read */

static int find_newer(const bloomfile_filter *f, const struct layers *seen)
{
    struct series *s = f->series;
    struct layers *next = NULL;
    if (s->path == NULL)
        return BLOOMFILE_EMISSINGLAYER; /* the newer layer is in the memory of another process */
    s->process->report = (struct report){ 0 };
    int error = writers_find(f, seen, &next);
    if (error == 0 && s->writing) {
        error = writers_clean(next, layers_newest(seen)->header.layer + 1, s->flags);
        if (error != 0)
            layers_free(next, seen);
    }
    s->process->report.error = error;
    s->missing = error == BLOOMFILE_EMISSINGLAYER;
    if (error == 0)
        layers_replace(f, next);
    return error;
}

int lookup_follow(const bloomfile_filter *f, const struct layers *seen)
{
    struct series_process *p = f->series->process;
    pthread_mutex_lock(&p->finding);
    /* Comparing addresses is not enough: `seen` may have been freed, and a newer set may be at its
     * address. So the successor bit is tested as well. */
    const bool is_seen = layers_now(f) == seen && live_succeeded(layers_newest(seen));
    int error = is_seen ? find_newer(f, seen) : 0;
    layers_tidy(f);
    pthread_mutex_unlock(&p->finding);
    if (error != 0) {
        int none = 0;
        atomic_compare_exchange_strong(&f->guard->error, &none, error);
    }
    return error;
}

int lookup_enter_all(const bloomfile_filter *f, const struct layers **out)
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

static bool is_newest(const bloomfile_filter *layer)
{
    return layer->live == NULL || !live_succeeded(layer);
}

/* ---- one */

/* Returns whether the last batch of lookups found many keys. If so, searching layer by layer is
 * faster than one loop over all layers. */
static bool many_are_found(const bloomfile_filter *f)
{
    return atomic_load_explicit(&f->series->many_found, memory_order_relaxed);
}

/* Returns whether the kernel may search all layers in one loop, because all their pages are known
 * to be good. */
static bool is_flat(const bloomfile_filter *f)
{
    return guard_all_good(&f->guard_storage);
}

/* Returns whether a "no" of that loop is certain: live_in_doubt() for all layers. */
static bool is_sure_live(const bloomfile_filter *f, const struct layers *l)
{
    const uint8_t *const *header = l->headers, *const *end = header + l->count;
    shared_order();
    do {
        if (shared_is32(header_state(*header, 0), BLOOMFILE_STATE_POISONED) ||
            shared_is32(header_state(*header, 1), BLOOMFILE_STATE_POISONED))
            return false;
    } while (++header != end);
    return is_flat(f);
}

static bool is_sure(const bloomfile_filter *f, const struct layers *l)
{
    return !f->series->live || is_sure_live(f, l);
}

/* Looks up one digest. Tests the bits of all layers first, so that their cache misses overlap. */
static bool one(const bloomfile_filter *f, const struct layers *l, uint64_t digest)
{
    if (is_flat(f)) {
        const bool hit = f->kernel->contains_any(l->views, l->count, digest);
        if (hit || is_sure(f, l))
            return hit;
    }
    for (size_t i = l->count; i-- > 0;) {
        const bloomfile_filter *layer = l->list[i];
        if (guard_only_doubt(&layer->guard_storage) ? layer->contains(&layer->view, digest)
                                                    : unchecked_contains(layer, digest))
            return true;
    }
    for (size_t i = l->count; i-- > 0;)
        if (l->list[i]->live != NULL && live_in_doubt(l->list[i]))
            return true;
    return false;
}

static bool series_contains(const bloomfile_filter *f, uint64_t digest)
{
    for (;;) {
        const struct layers *l = layers_enter(f);
        /* grow 8: check for a newer layer after the bits were tested. If an add returned before
         * this lookup began, its key is in these layers, or the newest of them has the successor
         * bit. */
        const bool hit = one(f, l, digest), known = hit || is_newest(layers_newest(l));
        layers_leave(f, l);
        if (known)
            return hit;
        if (lookup_follow(f, l) != 0)
            return true;
    }
}

/* Answers "maybe" if there are newer layers, because opening them would wait. */
static bool series_contains_nowait(const bloomfile_filter *f, uint64_t digest)
{
    const struct layers *l = layers_enter(f);
    bool hit = false;
    for (size_t i = l->count; i-- > 0 && !hit;)
        hit = unchecked_contains_nowait(l->list[i], digest);
    hit = hit || !is_newest(layers_newest(l));
    layers_leave(f, l);
    return hit;
}

/* ---- many */

static size_t many(const bloomfile_filter *layer, const uint64_t *digests, size_t n, bool *hits)
{
    if (!guard_only_doubt(&layer->guard_storage))
        return unchecked_contains_many(layer, digests, n, hits);
    return layer->contains_many(&layer->view, digests, n, hits);
}

/* Collects the digests that were not found, and their positions. */
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

/* Sets hits[i] if a layer before layer `to` has digest i. Returns the number of hits. */
static size_t look_in_older(const bloomfile_filter *f, const struct layers *l, size_t to,
                            const uint64_t *digests, size_t n, bool *hits)
{
    bool more[ADDING_MOST];
    size_t found = 0;
    if (to > 0 && is_flat(f) && !many_are_found(f)) {
        f->kernel->contains_any_many(l->views + l->count - to, to, digests, n, more);
        for (size_t i = 0; i < n; i++)
            found += hits[i] |= more[i];
        if (found == n || is_sure(f, l))
            return found;
    }
    found = 0;
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

/* Searches the newest layer first, which is the largest, and the others only for the keys that it
 * lacks. */
static size_t newest_first(const bloomfile_filter *f, const struct layers *l,
                           const uint64_t *digests, size_t n, bool *hits)
{
    uint64_t absent[ADDING_MOST];
    size_t at[ADDING_MOST];
    bool rest[ADDING_MOST] = { false };
    const size_t found = many(layers_newest(l), digests, n, hits);
    if (l->count == 1 || found == n)
        return found;
    const size_t left = keep_absent(digests, hits, n, at, absent);
    const size_t also = look_in_older(f, l, l->count - 1, absent, left, rest);
    for (size_t i = 0; i < left; i++)
        hits[at[i]] = rest[i];
    return found + also;
}

/* Searches all layers in one loop, so that cache misses overlap, unless the last batch found many
 * keys. */
static size_t ask_all(const bloomfile_filter *f, const struct layers *l, const uint64_t *digests,
                      size_t n, bool *hits)
{
    const bool before = many_are_found(f), at_once = !before && is_flat(f);
    size_t found = 0;
    if (at_once)
        found = f->kernel->contains_any_many(l->views, l->count, digests, n, hits);
    if (!at_once || (found < n && !is_sure(f, l)))
        found = newest_first(f, l, digests, n, hits);
    const bool now = found >= n / 4 + 1;
    if (now != before)
        atomic_store_explicit(&f->series->many_found, now, memory_order_relaxed);
    return found;
}

/* Selects the digests that no layer before the newest has. absent[] receives them, at[] their
 * positions in digests[]. n is at most ADDING_MOST. Returns their number. */
static size_t absent_of(const bloomfile_filter *f, const struct layers *l, const uint64_t *digests,
                        size_t n, size_t *at, uint64_t *absent)
{
    bool hits[ADDING_MOST] = { false };
    look_in_older(f, l, l->count - 1, digests, n, hits);
    return keep_absent(digests, hits, n, at, absent);
}

static size_t chunk(const bloomfile_filter *f, const uint64_t *digests, size_t n, bool *hits)
{
    bool own[UNCHECKED_CHUNK];
    if (hits == NULL)
        hits = own;
    for (;;) {
        const struct layers *l = layers_enter(f);
        const size_t found = ask_all(f, l, digests, n, hits);
        const bool known = found == n || is_newest(layers_newest(l));
        layers_leave(f, l);
        if (known)
            return found;
        if (lookup_follow(f, l) != 0)
            return unchecked_all_maybe(n, hits);
    }
}

static size_t series_contains_many(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                                   bool *hits)
{
    return unchecked_in_chunks(f, digests, n, hits, chunk);
}

_Static_assert(UNCHECKED_CHUNK <= ADDING_MOST, "room for a chunk");

/* ---- without doubts */

static bool sealed_contains(const struct kernel_view *view, uint64_t digest)
{
    const bloomfile_filter *f = handle_of_view(view);
    const struct layers *l = layers_now(f);
    return f->kernel->contains_any(l->views, l->count, digest);
}

static bool forgetting_contains(const struct kernel_view *view, uint64_t digest)
{
    return series_contains(handle_of_view(view), digest);
}

static bool growing_contains(const struct kernel_view *view, uint64_t digest)
{
    const bloomfile_filter *f = handle_of_view(view);
    const struct layers *l = layers_now(f);
    if (f->kernel->contains_any(l->views, l->count, digest))
        return true;
    const bool sure = is_sure_live(f, l) && !header_has_successor(l->headers[0]);
    return !sure && series_contains(f, digest);
}

static size_t flat_contains_many(const struct kernel_view *view, const uint64_t *digests, size_t n,
                                 bool *hits)
{
    return series_contains_many(handle_of_view(view), digests, n, hits);
}

/* ---- the choice */

void lookup_start_layers(bloomfile_filter *f, bool named)
{
    static const struct doubtful_lookup in_layers = { series_contains, series_contains_many,
                                                      series_contains_nowait };
    f->contains = !f->series->live              ? sealed_contains
                  : f->series->generations == 0 ? growing_contains
                                                : forgetting_contains;
    f->contains_many = flat_contains_many;
    if (f->kernel->contains_any == NULL)
        guard_doubt(f->guard);
    lookup_start_series(f, &in_layers, named);
}

/* ---- Adds. Keys that the older layers lack are added to the newest layer, after a check that it
 * has no successor. If it has one, that is opened, and the add starts again (MOVED). The successor
 * bit may also be set between check and add. A growing series then keeps the key in the older
 * layer. A forgetting series repeats the add in the newer layer (S10), because the older one will
 * be forgotten too early. */

#define MOVED ADDING_SUCCEEDED /* there is a newer layer: find it, and add again */

static bool has_newer(const bloomfile_filter *newest)
{
    return live_succeeded(newest);
}

/* ---- the newest layer */

/* Makes the next layer. Returns MOVED if it exists then. */
static int make_newer(const bloomfile_filter *f, const struct layers *l)
{
    const int error = succession(f, l);
    return error == 0 ? MOVED : error;
}

/* Joins the newest layer. If the period of its generation is over, makes the next layer. */
static int begin_adding(const bloomfile_filter *f, const struct layers *l)
{
    bloomfile_filter *newest = layers_newest(l);
    int error = join_writable(newest);
    if (error == 0 && has_newer(newest))
        error = MOVED;
    return error != 0 || !succession_is_due(newest) ? error : make_newer(f, l);
}

/* ---- adding */

struct task {
    const uint64_t *digests;
    size_t n;
    bool *was_new;
    struct adding_done *done;
    size_t again; /* of a forgetting series: number of late adds to repeat in a newer layer */
    uint64_t again_digests[ADDING_MOST];
};

/* Adds the absent keys, like adding(). If the newest layer is full, makes the next only for a key
 * that no layer has, so that the time of forgetting does not depend on how keys are split into
 * batches. */
static int add_to_newest(const bloomfile_filter *f, const struct layers *l, struct task *t,
                         const uint64_t *absent, size_t n, bool *was_new, struct adding_done *some)
{
    bloomfile_filter *newest = layers_newest(l);
    int error = begin_adding(f, l);
    if (error == 0) {
        adding_turn(newest, 0, n);
        error = adding(newest, absent, n, was_new, some);
        adding_turn(newest, 0, 0);
    }
    t->done->new_keys += some->new_keys;
    if (some->keys > 0 && f->series->generations != 0 &&
        has_newer(newest)) { /* grow 10: a late add */
        memcpy(t->again_digests + t->again, absent, some->keys * sizeof *absent);
        t->again += some->keys;
    }
    return error == BLOOMFILE_EFULL ? make_newer(f, l) : error;
}

/* Returns the error because of which an older layer answers "maybe" for all keys, or 0. */
static int doubt_in_older(const struct layers *l)
{
    int error = 0;
    for (size_t i = 0; i + 1 < l->count && error == 0; i++)
        error = live_in_doubt(l->list[i]) ? atomic_load(&l->list[i]->guard->error) : 0;
    return error;
}

/* Adds the keys of the task. After an error, the task begins with the first key that was not
 * added. */
static int add_absent(const bloomfile_filter *f, const struct layers *l, struct task *t)
{
    uint64_t absent[ADDING_MOST];
    size_t at[ADDING_MOST];
    bool was_new[ADDING_MOST];
    struct adding_done some = { 0 };
    const size_t n = absent_of(f, l, t->digests, t->n, at, absent);
    int error = n < t->n ? doubt_in_older(l) : 0;
    if (error != 0)
        return error;
    if (n < t->n && f->series->generations != 0 && has_newer(layers_newest(l)))
        return MOVED; /* the layer that has these keys may already be replaced */
    if (t->was_new != NULL)
        memset(t->was_new, false, t->n * sizeof *t->was_new);
    if (n > 0)
        error = add_to_newest(f, l, t, absent, n, was_new, &some);
    for (size_t i = 0; t->was_new != NULL && i < some.keys; i++)
        t->was_new[at[i]] = was_new[i];
    const size_t past = some.keys < n ? at[some.keys] : t->n;
    t->done->keys += past;
    t->digests += past;
    t->n -= past;
    t->was_new = t->was_new != NULL ? t->was_new + past : NULL;
    return error;
}

static int add_once(const bloomfile_filter *f, struct task *t, const struct layers **seen)
{
    const struct layers *l = *seen = layers_enter(f);
    int error = begin_adding(f, l);
    if (error == 0)
        error = add_absent(f, l, t);
    layers_leave(f, l);
    return error;
}

/* Repeats late adds in the newest layer, until that layer has no successor after the add (live.md,
 * S10). */
static int add_again(const bloomfile_filter *f, const uint64_t *digests, size_t n)
{
    const struct layers *l;
    int error;
    do {
        l = layers_enter(f);
        bloomfile_filter *newest = layers_newest(l);
        error = adding_late(newest, digests, n);
        if (error == 0 && has_newer(newest))
            error = MOVED;
        layers_leave(f, l);
    } while (error == MOVED && (error = lookup_follow(f, l)) == 0);
    return error;
}

int lookup_add_late(const bloomfile_filter *f)
{
    struct series *s = f->series;
    int error = 0;
    if (atomic_load(&s->late_lost))
        return ENOMEM;
    if (atomic_load_explicit(&s->late, memory_order_acquire) == NULL)
        return 0;
    pthread_mutex_lock(&s->process->repeating);
    struct late *late = s->late;
    for (size_t at = 0; late != NULL && at < late->count && error == 0; at += ADDING_MOST) {
        const size_t left = late->count - at;
        error = add_again(f, late->digests + at, left < ADDING_MOST ? left : ADDING_MOST);
    }
    if (error == 0) {
        s->late = NULL;
        free(late);
    }
    pthread_mutex_unlock(&s->process->repeating);
    return error;
}

/* The keys were reported as added, and adding them again would find them in the older layer. */
static void keep_late(const bloomfile_filter *f, const struct task *t)
{
    struct series *s = f->series;
    pthread_mutex_lock(&s->process->repeating);
    struct late *old = s->late;
    const size_t n = old != NULL ? old->count : 0, count = n + t->again;
    struct late *all = malloc(sizeof *all + count * sizeof *all->digests);
    if (all != NULL) {
        all->count = count;
        if (n > 0)
            memcpy(all->digests, old->digests, n * sizeof *all->digests);
        memcpy(all->digests + n, t->again_digests, t->again * sizeof *all->digests);
        s->late = all;
        free(old);
    } else {
        s->late_lost = true;
    }
    pthread_mutex_unlock(&s->process->repeating);
}

int series_add(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
               struct adding_done *done)
{
    struct task t = { .digests = digests, .n = n, .was_new = was_new, .done = done };
    const struct layers *l;
    if (!f->series->writing)
        return f->series->live ? BLOOMFILE_EREADONLY : BLOOMFILE_ESEALED;
    int error = lookup_add_late(f);
    if (error != 0)
        return error;
    do
        error = add_once(f, &t, &l);
    while (error == MOVED && (error = lookup_follow(f, l)) == 0);
    const int again = t.again > 0 ? add_again(f, t.again_digests, t.again) : 0;
    if (again != 0)
        keep_late(f, &t);
    return error != 0 ? error : again;
}
