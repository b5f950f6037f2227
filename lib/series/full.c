/* SPDX-License-Identifier: MIT
 * By the counts, as long as there is one writer; those of several are not known before they commit,
 * so then by the ones in a sample, too. */
#include "series/full.h"

#include <math.h>
#include <time.h>

#include "handle/live.h"
#include "sizing/sizing.h"

#define OVERSHOOT   200  /* what all writers may add before they ask again: this part of a layer */
#define SAMPLES     64   /* places spread over the body */
#define SAMPLE_SIZE 8192 /* bytes at each */

/* ---- keys */

/* The keys that the ones tell, and what they may be wrong by: in the whole body three times the
 * standard deviation of linear counting, 2/3 of the root of the keys for k from 4 on; in a sample
 * once that of the number of keys in it. Too high fills a layer less; too low would overfill it. */
static uint64_t estimate(const bloomfile *f)
{
    const struct header *h = &f->header;
    const uint64_t places = h->body_size / SAMPLE_SIZE;
    const bool whole = places <= SAMPLES;
    struct kernel_tally tally = { 0 };
    if (whole)
        f->kernel->tally(f->view.body, (size_t)f->geometry.need, &tally);
    for (uint64_t i = 0; !whole && i < SAMPLES; i++)
        f->kernel->tally(f->view.body + places * i / SAMPLES * SAMPLE_SIZE, SAMPLE_SIZE, &tally);
    const double share = whole ? 1 : 8.0 * SAMPLES * SAMPLE_SIZE / (double)h->m;
    const double ones = (double)tally.ones / share, most = (double)h->m - 1;
    const double keys =
        sizing_of(h->layout)->estimated_keys(h->m, h->k, (uint64_t)(ones < most ? ones : most));
    return (uint64_t)(keys + (whole ? sqrt(keys) * 2 / 3 : sqrt(keys / share)));
}

bool full_of_time(const bloomfile *f)
{
    struct timespec now;
    const struct header *h = &f->header;
    return h->period != 0 && clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 && now.tv_sec > 0 &&
           (uint64_t)now.tv_sec > h->began && (uint64_t)now.tv_sec - h->began >= h->period;
}

uint64_t full_room(const bloomfile *f)
{
    struct header now = f->header;
    if (full_of_time(f))
        return 0;
    if (live_load_counted(f, &now) != 0)
        return 1; /* adding or syncing will tell */
    uint64_t keys = now.record.n;
    const uint64_t writers = now.record.writers > 1 ? now.record.writers : 1;
    const bool uncertain = writers > 1 || (now.record.flags & RECORD_N_ESTIMATED) != 0;
    const uint64_t seen = uncertain ? estimate(f) : 0;
    keys = seen > keys ? seen : keys;
    if (keys >= f->header.capacity)
        return 0;
    const uint64_t left = f->header.capacity - keys, most = f->header.capacity / OVERSHOOT;
    const uint64_t room = (left < most ? left : most) / writers;
    return room > 0 ? room : 1;
}
