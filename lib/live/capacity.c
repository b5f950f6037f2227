/* SPDX-License-Identifier: MIT
 * The limit on the number of keys. A single writer counts exactly. Several writers also estimate
 * the number from a sample of the bits, because uncommitted counts are known only to their
 * process. */
#include "live/capacity.h"

#include <math.h>

#include "image/body.h"
#include "live/records.h"
#include "sizing/sizing.h"

#define OVERSHOOT   200  /* all writers together may add limit / 200 keys before they count again */
#define SAMPLES     64   /* samples spread over the body */
#define SAMPLE_SIZE 8192 /* bytes of a sample */

uint64_t capacity_limit(const struct header *h, unsigned flags)
{
    if (header_is_layer(h))
        return h->capacity;
    return (flags & BLOOMFILE_OPEN_OVER_CAPACITY) != 0 ? CAPACITY_UNLIMITED : image_most_keys(h);
}

/* ---- the image */

/* The number of keys, estimated from the one bits, plus a margin, because a low estimate would
 * overfill the layer. If the whole body is counted, the margin is three standard deviations of
 * linear counting: 2/3 of the square root of the keys if k is at least 4. For a sample it is one
 * standard deviation of the number of keys in the sample. */
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

/* The record lacks the keys of writers that have not committed, or were killed before they did. In
 * the counting layout n may also be too high: other writers may have removed keys since; or a
 * remover committed before the adder of its keys, so that n was clamped at 0, and rose when the
 * adder committed. */
static uint64_t count_keys_now(const bloomfile_filter *f, const struct record *now)
{
    if (now->writers <= 1 && (now->flags & RECORD_N_ESTIMATED) == 0)
        return now->n;
    const uint64_t seen = estimate(f);
    return layout_of(f->header.layout)->counts || seen > now->n ? seen : now->n;
}

/* The number of keys that this process may add before it counts again; 0 if the limit is
 * reached. */
static uint64_t count_room(const bloomfile_filter *f)
{
    struct record now;
    if (live_count(f, &now) != 0)
        return 1; /* one: the add itself, or the next sync, will return the error */
    const uint64_t keys = count_keys_now(f, &now), writers = now.writers > 1 ? now.writers : 1;
    if (keys >= f->live->limit)
        return 0;
    const uint64_t left = f->live->limit - keys, most = f->live->limit / OVERSHOOT;
    const uint64_t room = (left < most ? left : most) / writers;
    return room > 0 ? room : 1;
}

/* ---- the process */

/* The number of leading keys that are already present: they need no room. */
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
    pthread_mutex_lock(&s->room_lock);
    int64_t room = session_take_room(s, some);
    if (room <= 0) {
        session_drop_room(s); /* and the unused room of other threads */
        s->room = (int64_t)count_room(f);
        room = session_take_room(s, some);
    }
    atomic_store(&s->has_room, room > 0);
    pthread_mutex_unlock(&s->room_lock);
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
