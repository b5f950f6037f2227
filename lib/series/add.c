/* SPDX-License-Identifier: MIT
 * To the newest layer what no layer has. */
#include <string.h>

#include "handle/join.h"
#include "handle/live.h"
#include "series/lookup.h"
#include "series/series.h"
#include "series/succession.h"

#define MOVED ADDING_SUCCEEDED /* there is a newer layer, which is to be found first */

static bool moved(const bloomfile *newest)
{
    return live_succeeded(newest);
}

/* ---- the newest layer */

/* 0 with the next layer there: MOVED. */
static int succeed(const bloomfile *f, const struct layers *l)
{
    const int error = succession(f, l);
    return error == 0 ? MOVED : error;
}

/* Before adding to it. */
static int begin(const bloomfile *f, const struct layers *l)
{
    bloomfile *newest = layers_newest(l);
    int error = join_writable(newest);
    if (error == 0 && moved(newest))
        error = MOVED;
    return error != 0 || !succession_is_due(newest) ? error : succeed(f, l);
}

/* ---- adding */

struct task {
    const uint64_t *digests;
    size_t n;
    bool *was_new;
    struct adding_done *done;
    size_t again; /* of a forgetting series: digests to be added to a newer layer too */
    uint64_t again_digests[ADDING_MOST];
};

/* Adds the absent ones, as adding(). That the newest layer is full ends it only when a key comes
 * that no layer has: what is forgotten does not depend on where batches begin. */
static int add_to_newest(const bloomfile *f, const struct layers *l, struct task *t,
                         const uint64_t *absent, size_t n, bool *was_new, struct adding_done *some)
{
    bloomfile *newest = layers_newest(l);
    int error = begin(f, l);
    if (error == 0)
        error = adding(newest, absent, n, was_new, some);
    t->done->new_keys += some->new_keys;
    if (some->keys > 0 && f->series->generations != 0 && moved(newest)) { /* grow 10: a late add */
        memcpy(t->again_digests + t->again, absent, some->keys * sizeof *absent);
        t->again += some->keys;
    }
    return error == BLOOMFILE_EFULL ? succeed(f, l) : error;
}

/* Why an older layer says "maybe" to all keys. */
static int doubt_in_older(const struct layers *l)
{
    int error = 0;
    for (size_t i = 0; i + 1 < l->count && error == 0; i++)
        error = live_in_doubt(l->list[i]) ? atomic_load(&l->list[i]->guard->error) : 0;
    return error;
}

/* After an error, what is left begins with the first key that was not added. */
static int add_absent(const bloomfile *f, const struct layers *l, struct task *t)
{
    uint64_t absent[ADDING_MOST];
    size_t at[ADDING_MOST];
    bool was_new[ADDING_MOST];
    struct adding_done some = { 0 };
    const size_t n = lookup_absent(l, t->digests, t->n, at, absent);
    int error = n < t->n ? doubt_in_older(l) : 0;
    if (error != 0)
        return error;
    if (n < t->n && f->series->generations != 0 && moved(layers_newest(l)))
        return MOVED; /* what has them may be given up already */
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

static int add_once(const bloomfile *f, struct task *t, const struct layers **seen)
{
    const struct layers *l = *seen = layers_enter(f);
    int error = begin(f, l);
    if (error == 0)
        error = add_absent(f, l, t);
    layers_leave(f, l);
    return error;
}

/* format-spec.md, S10: a layer that has a successor may be given up before what was added to it has
 * had its time. */
static int add_again(const bloomfile *f, const struct task *t, const struct layers **seen)
{
    const struct layers *l = *seen = layers_enter(f);
    bloomfile *newest = layers_newest(l);
    int error = adding_late(newest, t->again_digests, t->again);
    if (error == 0 && moved(newest))
        error = MOVED;
    layers_leave(f, l);
    return error;
}

int series_add(bloomfile *f, const uint64_t *digests, size_t n, bool *was_new,
               struct adding_done *done)
{
    struct task t = { .digests = digests, .n = n, .was_new = was_new, .done = done };
    const struct layers *l;
    int error;
    if (!f->series->writing)
        return f->series->live ? BLOOMFILE_EREADONLY : BLOOMFILE_ESEALED;
    while ((error = add_once(f, &t, &l)) == MOVED)
        if ((error = lookup_follow(f, l)) != 0)
            return error;
    if (error == 0 && t.again > 0)
        error = MOVED;
    while (error == MOVED) {
        error = lookup_follow(f, l);
        if (error == 0)
            error = add_again(f, &t, &l);
    }
    return error;
}

int series_addable(bloomfile *f)
{
    struct adding_done none = { 0 };
    return series_add(f, NULL, 0, NULL, &none);
}
