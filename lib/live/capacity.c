/* SPDX-License-Identifier: MIT
 * Admission of keys up to a limit. A single writer counts exactly. Several writers also estimate
 * from a sample of the bits, because their counts are unknown until they commit. */
#include "live/capacity.h"

#include <math.h>

#include "image/body.h"
#include "live/records.h"
#include "sizing/sizing.h"

#define OVERSHOOT   200  /* all writers together add 1/200 of the limit before they count again */
#define SAMPLES     64   /* samples spread over the body */
#define SAMPLE_SIZE 8192 /* bytes of a sample */

uint64_t capacity_limit(const struct header *h, unsigned flags)
{
    if (header_is_layer(h))
        return h->capacity;
    return (flags & BLOOMFILE_OPEN_OVER_CAPACITY) != 0 ? CAPACITY_UNLIMITED : image_most_keys(h);
}

/* ---- the image */

/* The number of keys, estimated from the one bits, plus a margin: in the whole body three standard
 * deviations of linear counting, 2/3 of the square root of the keys if k is at least 4; in a sample
 * one standard deviation of its keys. A low estimate would overfill the layer. */
static uint64_t estimate(const bloomfile_filter *f)
{
    const struct header *h = &f->header;
    const uint64_t places = h->body_size / SAMPLE_SIZE;
    const bool whole = places <= SAMPLES;
    struct kernel_tally tally = { 0 };
    if (whole)
        f->kernel->tally(f->view.body, (size_t)f->geometry.need, &tally);
    for (uint64_t i = 0; !whole && i < SAMPLES; i++)
        f->kernel->tally(f->view.body + places * i / SAMPLES * SAMPLE_SIZE, SAMPLE_SIZE, &tally);
    const double share = whole ? 1 : SAMPLES * SAMPLE_SIZE / (double)f->geometry.need;
    const double ones = (double)tally.ones / share, most = (double)h->m - 1;
    const double keys =
        sizing_of(h->layout)->estimated_keys(h->m, h->k, (uint64_t)(ones < most ? ones : most));
    return (uint64_t)(keys + (whole ? sqrt(keys) * 2 / 3 : sqrt(keys / share)));
}

/* The record lacks keys that other writers have not committed, or had not when they were killed. In
 * the layout counting n may also be too high: other writers removed keys since, or a remover
 * committed before the adder, so that n stayed at 0 and then rose by keys that are gone. */
static uint64_t count_keys_now(const bloomfile_filter *f, const struct record *now)
{
    if (now->writers <= 1 && (now->flags & RECORD_N_ESTIMATED) == 0)
        return now->n;
    const uint64_t seen = estimate(f);
    return layout_of(f->header.layout)->counts || seen > now->n ? seen : now->n;
}

/* How many keys this process may add before it counts again. 0: the limit is reached. */
static uint64_t count_room(const bloomfile_filter *f)
{
    struct record now;
    if (live_count(f, &now) != 0)
        return 1; /* adding or syncing returns the error */
    const uint64_t keys = count_keys_now(f, &now), writers = now.writers > 1 ? now.writers : 1;
    if (keys >= f->live->limit)
        return 0;
    const uint64_t left = f->live->limit - keys, most = f->live->limit / OVERSHOOT;
    const uint64_t room = (left < most ? left : most) / writers;
    return room > 0 ? room : 1;
}

/* ---- the process */

/* How many keys at the front are present: they need no room. */
static size_t count_there(const bloomfile_filter *f, const uint64_t *digests, size_t n)
{
    size_t there = 0;
    while (there < n && f->kernel->contains(&f->view, digests[there]))
        there++;
    return there;
}

static int64_t take_room(const bloomfile_filter *f, size_t some)
{
    struct session *s = f->live->session;
    pthread_mutex_lock(&s->asking);
    int64_t room = session_take_room(s, some);
    if (room <= 0) {
        session_drop_room(s); /* and the unused room of other threads */
        s->room = (int64_t)count_room(f);
        room = session_take_room(s, some);
    }
    atomic_store(&s->has_room, room > 0);
    pthread_mutex_unlock(&s->asking);
    return room;
}

void capacity_renew(const bloomfile_filter *f)
{
    (void)take_room(f, 1);
}

int capacity_take(const bloomfile_filter *f, const uint64_t *digests, size_t *some)
{
    if (f->live->limit == CAPACITY_UNLIMITED) {
        atomic_store(&f->live->session->has_room, true);
        return 0;
    }
    const size_t there =
        atomic_load(&f->live->session->has_room) ? 0 : count_there(f, digests, *some);
    const int64_t room = there > 0 ? (int64_t)there : take_room(f, *some);
    if (room <= 0)
        return BLOOMFILE_EFULL;
    *some = (uint64_t)room < *some ? (size_t)room : *some;
    return 0;
}
