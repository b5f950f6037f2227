/* SPDX-License-Identifier: MIT
 * By the counts, as long as there is one writer; those of several are not known before they commit,
 * so then by the ones in a sample, too. */
#include "series/full.h"

#include <time.h>

#include "handle/live.h"
#include "sizing/sizing.h"

#define OVERSHOOT 200 /* what all writers may add before they ask again: this part of a layer */
#define SAMPLES   64  /* places spread over the body */
#define SAMPLE_SIZE                                                                                \
    8192 /* bytes: all together tell the number of keys to a third of a per cent                   \
          */

/* ---- keys */

static uint64_t estimate(const bloomfile *f)
{
    const struct header *h = &f->header;
    const uint64_t pages = h->body_size / SAMPLE_SIZE, all = f->geometry.need;
    const bool whole = pages <= SAMPLES;
    struct kernel_tally tally = { 0 };
    if (whole)
        f->kernel->tally(f->view.body, (size_t)all, &tally);
    for (uint64_t i = 0; !whole && i < SAMPLES; i++)
        f->kernel->tally(f->view.body + pages * i / SAMPLES * SAMPLE_SIZE, SAMPLE_SIZE, &tally);
    const double seen = whole ? (double)h->m : 8.0 * SAMPLES * SAMPLE_SIZE;
    const double ones = (double)tally.ones / seen * (double)h->m;
    const double most = (double)h->m - 1;
    return (uint64_t)sizing_of(h->layout)->estimated_keys(h->m, h->k,
                                                          (uint64_t)(ones < most ? ones : most));
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
        return 1; /* adding will tell */
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
