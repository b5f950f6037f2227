/* SPDX-License-Identifier: MIT */
#include "fill.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "image.h"
#include "map.h"
#include "probe.h"
#include "reader.h"
#include "team.h"

#define PART_BEST ((size_t)1 << 18) /* where a part's keys are its own: stays in the cache */

struct fill {
    const struct header *h;
    const struct runs *runs;
    const struct kernel *kernel;
    struct geometry g;
    size_t room, part;
    uint64_t parts;
    uint8_t *body;
    int fd;
    uint8_t *table;
    atomic_uint_least64_t next; /* part */
    atomic_uint_least64_t n, ones, overflow;
    atomic_uint_least64_t sum; /* of the digests read from a file */
    atomic_int error;
};

/* A thread at work. */
struct worker {
    struct fill *fill;
    struct reader *reader;
    uint8_t *room;        /* for a part; NULL: parts are made where they belong */
    uint8_t *bytes;       /* the part */
    uint64_t first, last; /* its units */
    uint64_t added;       /* digests */
    struct kernel_tally tally;
};

/* The least digest whose first position is `unit` or above; 2^64 is not one, so unit < units. */
static uint64_t least_digest(uint64_t unit, uint64_t units)
{
    uint64_t digest = 0;
    for (uint64_t bit = 1ULL << 63; bit != 0; bit >>= 1)
        if (probe_reduce(digest + bit - 1, units) < unit)
            digest += bit;
    return digest;
}

static void add(void *context, const uint64_t *digests, size_t n)
{
    struct worker *w = context;
    const struct fill *f = w->fill;
    f->kernel->add_part(w->bytes, w->first, w->last, f->g.units, f->h->k, digests, n);
    w->added += n;
}

/* Adds to the part that begins at byte `start` of the body and has `size` bytes in use. */
static int add_keys(struct worker *w, uint64_t start, size_t size)
{
    const struct fill *f = w->fill;
    const uint64_t units = f->g.units;
    bool blocked = f->h->layout == BLOOMFILE_BLOCKED, counting = f->h->layout == BLOOMFILE_COUNTING;
    if (blocked) {
        w->first = start / PROBE_BLOCK_BYTES;
        w->last = w->first + size / PROBE_BLOCK_BYTES;
    } else {
        w->first = start * (counting ? 2 : 8);
        w->last = w->first + size * (counting ? 2 : 8);
    }
    if (w->last > units)
        w->last = units;
    uint64_t first = blocked ? least_digest(w->first, units) : 0;
    uint64_t last = blocked && w->last < units ? least_digest(w->last, units) - 1 : UINT64_MAX;
    return reader_read(w->reader, first, last, add, w);
}

static void sum_pages(struct worker *w, uint64_t start, size_t size)
{
    const struct fill *f = w->fill;
    for (size_t at = 0; at < size; at += CHECKSUM_PAGE) {
        uint64_t page = (start + at) / CHECKSUM_PAGE;
        put32(f->table + 4 * page,
              checksum(w->bytes + at, checksum_page_size(f->g.body_size, page)));
    }
}

static int make_part(struct worker *w, uint64_t number)
{
    struct fill *f = w->fill;
    uint64_t start = number * f->part, rest = f->g.body_size - start, used = f->g.need - start;
    size_t size = rest < f->part ? (size_t)rest : f->part;
    size_t in_use = used < size ? (size_t)used : size;
    w->bytes = f->body != NULL ? f->body + start : memset(w->room, 0, size);
    w->added = 0;
    int error = add_keys(w, start, in_use);
    if (error != 0)
        return error;
    f->kernel->tally(w->bytes, in_use, &w->tally);
    sum_pages(w, start, size);
    if (f->h->layout == BLOOMFILE_BLOCKED || number == 0)
        atomic_fetch_add(&f->n, w->added);
    return f->body != NULL ? 0 : map_write(f->fd, f->h->body_offset + start, w->bytes, size);
}

static void make_parts(void *context)
{
    struct fill *f = context;
    struct worker w = { .fill = f };
    int error = reader_new(&w.reader, f->runs, f->room);
    if (error == 0 && f->body == NULL && (w.room = malloc(f->part)) == NULL)
        error = ENOMEM;
    while (error == 0 && atomic_load(&f->error) == 0) {
        uint64_t number = atomic_fetch_add(&f->next, 1);
        if (number >= f->parts)
            break;
        error = make_part(&w, number);
    }
    if (error != 0)
        atomic_store(&f->error, error);
    atomic_fetch_add(&f->ones, w.tally.ones);
    atomic_fetch_add(&f->overflow, w.tally.overflow);
    atomic_fetch_add(&f->sum, w.reader != NULL ? reader_sum(w.reader) : 0);
    free(w.room);
    reader_free(w.reader);
}

/* Positions of classic and counting keys are everywhere: each part is a pass over all keys. */
static uint64_t part_size(const struct fill *f, const struct fill_plan *plan)
{
    uint64_t threads = plan->threads > 1 ? plan->threads : 1;
    uint64_t part =
        f->h->layout == BLOOMFILE_BLOCKED ? PART_BEST : (f->g.body_size + threads - 1) / threads;
    if (plan->part != 0 && part > plan->part && f->body == NULL)
        part = plan->part;
    return (part + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE * CHECKSUM_PAGE;
}

/* The part of a thread that works alone. Threads would not share out the passes: the less memory
 * each has, the more there are. */
static size_t with_memory_of_all(const struct fill *f, unsigned threads)
{
    const size_t others = (f->part + f->room * sizeof(uint64_t)) * (threads - 1);
    const size_t part = f->part + others / CHECKSUM_PAGE * CHECKSUM_PAGE;
    return part < f->g.body_size ? part : (size_t)f->g.body_size;
}

/* Puts the checksums of the pages together. */
static void sum_up(struct header *h, const struct fill *f)
{
    struct checksum_sum sum = { 0 };
    for (uint64_t page = 0; page < f->g.pages; page++)
        checksum_append(&sum, get32(f->table + 4 * page), checksum_page_size(f->g.body_size, page));
    image_record(&h->record, sum.crc,
                 &(struct kernel_tally){ .ones = f->ones, .overflow = f->overflow });
}

int fill_body(struct header *h, const struct runs *runs, const struct fill_plan *plan,
              uint8_t *body, int fd, uint8_t *table, uint64_t *n)
{
    struct fill f = {
        .h = h,
        .runs = runs,
        .kernel = kernel_for(h->layout),
        .g = geometry_of(h->layout, h->m, h->header_size),
        .room = plan->room,
        .body = body,
        .fd = fd,
        .table = table,
    };
    unsigned threads = plan->threads > 1 ? plan->threads : 1;
    f.part = (size_t)part_size(&f, plan);
    if (threads > 1 && h->layout != BLOOMFILE_BLOCKED && f.g.body_size / threads > f.part) {
        f.part = with_memory_of_all(&f, threads);
        threads = 1;
    }
    f.parts = (f.g.body_size + f.part - 1) / f.part;
    team_run(threads, make_parts, &f);
    if (f.error != 0)
        return f.error;
    if (f.sum != runs->sum * (h->layout == BLOOMFILE_BLOCKED ? 1 : f.parts))
        return EIO;
    sum_up(h, &f);
    *n = f.n;
    return 0;
}
