/* SPDX-License-Identifier: MIT
 * The plan of a body's parts: their size and number, from the layout, the memory and the number of
 * threads. */
#include "build/fill.h"

#include "build/deferred.h"
#include "build/runs.h"
#include "build/solver.h"
#include "format/checksum.h"
#include "format/min.h"
#include "os/thread.h"

#define PART_BEST   ((size_t)1 << 18) /* bytes; such a part stays in the L2 cache */
#define PART_LEAST  ((size_t)1 << 15)
#define PART_SOLVED ((size_t)1 << 16) /* bytes; the digests of such a part stay in the L2 cache */
#define TURNS       8 /* fewest parts for each thread, so that all threads finish nearly together */
#define PART_MOST   (SIZE_MAX / 4 / CHECKSUM_PAGE * CHECKSUM_PAGE) /* fits 32 bits */
#define BODY_SHARE  ((uint64_t)1 << 20) /* bytes of body; less does not pay for a thread */
#define BUFFER_BEST ((size_t)4096)      /* smaller writes are slower */
#define WINDOW_MOST 2048 /* parts of a window: a line of each buffer stays in a cache */
#define ASIDE_EACH  16   /* most bytes of positions that a digest adds to one window */

static uint64_t divided_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* The greatest power of 2 that is at most `size` > 0. */
static uint64_t power_below(uint64_t size)
{
    return (uint64_t)1 << (63 - __builtin_clzll(size));
}

/* The memory of one thread, in bytes, if `threads` share all memory. */
static uint64_t memory_each(const struct fill_plan *plan, unsigned threads)
{
    const uint64_t all = plan->threads > 1 ? plan->threads : 1;
    return (plan->part + (uint64_t)plan->room * READER_EACH) * all / threads;
}

/* Plans one part for each thread. If memory is too small for that, plans a single thread with
 * larger parts, because each part needs a pass over all digests, and several threads would need
 * more and smaller parts. */
static void plan_passes(struct parts *p, uint64_t body_size, const struct fill_plan *plan,
                        bool in_place)
{
    uint64_t part = divided_up(body_size, p->threads);
    if (plan->part != 0 && part > plan->part && !in_place) {
        part = MIN(memory_each(plan, 1) - (uint64_t)plan->room * READER_EACH, body_size);
        p->threads = 1;
    }
    p->size = (size_t)MIN(divided_up(part, CHECKSUM_PAGE) * CHECKSUM_PAGE, PART_MOST);
    p->count = divided_up(body_size, p->size);
}

static uint64_t windows_of(const struct parts *p)
{
    return divided_up(p->count, p->window);
}

/* Plans at least `least` windows for that many threads. Parts have PART_BEST bytes, or more if a
 * window would otherwise have more parts than efficient buffers. Returns false if memory is too
 * small. */
static bool plan_windows(struct parts *p, const struct header *h, uint64_t body_size,
                         const struct fill_plan *plan, unsigned threads, uint64_t least)
{
    const uint64_t each = memory_each(plan, threads);
    const uint64_t room = (uint64_t)plan->room * (plan->threads > 1 ? plan->threads : 1) / threads;
    const uint64_t reading = room * READER_EACH;
    if (each < 3 * DEFERRED_EXTENT || each < reading + 16 * DEFERRED_BUFFER_LEAST)
        return false;
    const uint64_t buffers = each - reading, best = MIN(buffers / BUFFER_BEST, WINDOW_MOST);
    const uint64_t most = power_below(MIN(each - DEFERRED_EXTENT, DEFERRED_PART_MOST));
    uint64_t size = PART_BEST;
    while (size < most && size * best * least < body_size)
        size *= 2;
    p->size = (size_t)MIN(size, most);
    p->threads = threads;
    p->room = (size_t)room;
    p->count = divided_up(body_size, p->size);
    p->window = MIN(divided_up(p->count, least), buffers / DEFERRED_BUFFER_LEAST - 1);
    p->buffer = (size_t)power_below(MIN(buffers / (p->window + 1), DEFERRED_BUFFER_MOST));
    p->shift = (unsigned)__builtin_ctzll(geometry_units_in(h->layout, p->size));
    return true;
}

/* Defers positions if that is cheaper than passes over the digests. Deferring writes and reads
 * about as many bytes as k passes read. Several threads must not need more windows than one thread
 * would. */
static void avoid_passes(struct parts *p, const struct header *h, uint64_t body_size,
                         const struct fill_plan *plan, unsigned threads)
{
    const uint64_t least = divided_up(h->k * DEFERRED_POSITION, ASIDE_EACH);
    struct parts one, several;
    if (!plan_windows(&one, h, body_size, plan, 1, least))
        return;
    const uint64_t windows = windows_of(&one);
    if (divided_up(p->count, p->threads) <= windows + h->k)
        return;
    const bool shared = plan_windows(&several, h, body_size, plan, threads, least);
    *p = shared && windows_of(&several) <= windows ? several : one;
}

/* Reduces the number of threads until each has enough memory to solve a page. Returns the size of
 * parts: as many pages as fit in a thread's memory, up to `best` bytes. */
static size_t plan_solved(struct parts *p, uint64_t keys, const struct fill_plan *plan, size_t best)
{
    const uint64_t reading = (uint64_t)plan->room * READER_EACH;
    while (p->threads > 1 && solver_needs(keys, 1) > memory_each(plan, p->threads) - reading)
        p->threads--;
    const uint64_t each = memory_each(plan, p->threads) - reading;
    size_t pages = best / CHECKSUM_PAGE;
    while (pages > 1 && solver_needs(keys, pages) > each)
        pages--;
    return pages * CHECKSUM_PAGE;
}

static void plan_ranges(struct parts *p, const struct header *h, uint64_t digests,
                        const struct fill_plan *plan, bool in_place)
{
    const struct geometry g = geometry_of(h->layout, h->m, h->header_size);
    const bool solved = layout_of(h->layout)->solved;
    p->size = solved ? PART_SOLVED : PART_BEST;
    if (solved && plan->part != 0)
        p->size = plan_solved(p, digests / g.pages, plan, p->size);
    else if (plan->part != 0 && plan->part < p->size && !in_place)
        p->size = plan->part;
    while (p->threads > 1 && p->size > PART_LEAST && g.body_size / p->size < p->threads * TURNS)
        p->size = p->size / 2 / CHECKSUM_PAGE * CHECKSUM_PAGE;
    p->count = divided_up(g.body_size, p->size);
    p->threads = team_size(p->threads, p->count);
}

struct parts parts_plan(const struct header *h, uint64_t digests, const struct fill_plan *plan,
                        bool in_place)
{
    const uint64_t body_size = geometry_of(h->layout, h->m, h->header_size).body_size;
    const unsigned threads =
        team_size(plan->threads, digests / READER_SHARE + body_size / BODY_SHARE);
    struct parts p = { .threads = threads, .room = plan->room };
    if (layout_is_local(h->layout)) {
        plan_ranges(&p, h, digests, plan, in_place);
        return p;
    }
    plan_passes(&p, body_size, plan, in_place);
    if (plan->part != 0 && !in_place)
        avoid_passes(&p, h, body_size, plan, threads);
    return p;
}
