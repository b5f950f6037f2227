/* SPDX-License-Identifier: MIT
 * To the newest layer what no layer has. */
#include <string.h>

#include "handle/join.h"
#include "handle/live.h"
#include "series/full.h"
#include "series/lookup.h"
#include "series/series.h"
#include "series/succession.h"

#define MOVED ADDING_SUCCEEDED /* there is a newer layer, which is to be found first */

static bool moved(const bloomfile *newest)
{
    return live_succeeded(newest);
}

/* ---- room in the newest layer */

/* Takes as much of the room as there is for n new keys; 0: none is left. */
static size_t take_room(struct series_process *p, size_t n)
{
    long long room = atomic_load_explicit(&p->room, memory_order_relaxed), taken;
    do {
        if (room <= 0)
            return 0;
        taken = (unsigned long long)room < n ? room : (long long)n;
    } while (!atomic_compare_exchange_weak(&p->room, &room, room - taken));
    return (size_t)taken;
}

static bool has_room(const bloomfile *f, const bloomfile *newest)
{
    return atomic_load_explicit(&f->series->process->room, memory_order_relaxed) > 0 &&
           !full_of_time(newest);
}

/* One thread asks, for all. 0; MOVED; or why the next layer cannot be made. */
static int ask_for_room(const bloomfile *f, const struct layers *l)
{
    struct series_process *p = f->series->process;
    const bloomfile *newest = layers_newest(l);
    pthread_mutex_lock(&p->asking);
    const bool asked = has_room(f, newest); /* by another thread; it may be taken again at once */
    const uint64_t room = asked ? 0 : full_room(newest);
    const bool full = !asked && room == 0;
    if (room != 0)
        atomic_store(&p->room, (long long)room);
    pthread_mutex_unlock(&p->asking);
    if (!full)
        return 0;
    int error = succession(f, l);
    return error == 0 ? MOVED : error;
}

/* Before a batch. That the newest is full ends it only when a key comes that older ones have not:
 * what is forgotten does not depend on where batches begin. */
static int begin(const bloomfile *f, const struct layers *l)
{
    bloomfile *newest = layers_newest(l);
    int error = join_writable(newest);
    if (error == 0 && moved(newest))
        error = MOVED;
    return error != 0 || !full_of_time(newest) ? error : ask_for_room(f, l);
}

static int make_room(const bloomfile *f, const struct layers *l)
{
    const int error = begin(f, l);
    return error != 0 || has_room(f, layers_newest(l)) ? error : ask_for_room(f, l);
}

/* To newer layers. */
static int follow(const bloomfile *f, const struct layers *l)
{
    int error = lookup_follow(f, l);
    atomic_store(&f->series->process->room, 0);
    return error;
}

/* ---- adding */

struct task {
    const uint64_t *digests;
    size_t n;
    bool *was_new;
    size_t *new_keys;
    size_t again; /* of a forgetting series: digests to be added to a newer layer too */
    uint64_t again_digests[ADDING_MOST];
};

/* Those of the absent ones that there is room for. Sets *done to how many. */
static int add_to_newest(const bloomfile *f, const struct layers *l, struct task *t,
                         const uint64_t *absent, size_t n, bool *was_new, size_t *done)
{
    bloomfile *newest = layers_newest(l);
    struct series_process *p = f->series->process;
    size_t sum = 0;
    int error = make_room(f, l);
    const size_t some = error == 0 ? take_room(p, n) : 0;
    if (some == 0)
        return error;
    error = adding(newest, absent, some, was_new, &sum);
    atomic_fetch_add_explicit(&p->room, (long long)(some - sum), memory_order_relaxed);
    if (error != 0)
        return error;
    *done = some;
    *t->new_keys += sum;
    if (f->series->generations != 0 && moved(newest)) { /* grow 10: a late add */
        memcpy(t->again_digests + t->again, absent, some * sizeof *absent);
        t->again += some;
    }
    return 0;
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
    size_t at[ADDING_MOST], first = 0;
    bool was_new[ADDING_MOST];
    const size_t n = lookup_absent(l, t->digests, t->n, at, absent);
    int error = n < t->n ? doubt_in_older(l) : 0;
    if (error != 0)
        return error;
    if (n < t->n && f->series->generations != 0 && moved(layers_newest(l)))
        return MOVED; /* what has them may be given up already */
    if (t->was_new != NULL)
        memset(t->was_new, false, t->n * sizeof *t->was_new);
    while (first < n && error == 0) {
        size_t done = 0;
        error = add_to_newest(f, l, t, absent + first, n - first, was_new, &done);
        for (size_t i = 0; t->was_new != NULL && i < done; i++)
            t->was_new[at[first + i]] = was_new[i];
        first += done;
    }
    const size_t past = first < n ? at[first] : t->n;
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
    int error = join_writable(newest);
    size_t ignored = 0;
    if (error == 0)
        error = adding(newest, t->again_digests, t->again, NULL, &ignored);
    if (error == 0 && moved(newest))
        error = MOVED;
    layers_leave(f, l);
    return error;
}

int series_add(bloomfile *f, const uint64_t *digests, size_t n, bool *was_new, size_t *new_keys)
{
    struct task t = { .digests = digests, .n = n, .was_new = was_new, .new_keys = new_keys };
    const struct layers *l;
    int error;
    if (!f->series->writing)
        return f->series->live ? BLOOMFILE_EREADONLY : BLOOMFILE_ESEALED;
    while ((error = add_once(f, &t, &l)) == MOVED)
        if ((error = follow(f, l)) != 0)
            return error;
    if (error == 0 && t.again > 0)
        error = MOVED;
    while (error == MOVED) {
        error = follow(f, l);
        if (error == 0)
            error = add_again(f, &t, &l);
    }
    return error;
}

int series_addable(bloomfile *f)
{
    size_t ignored = 0;
    return series_add(f, NULL, 0, NULL, &ignored);
}
