/* SPDX-License-Identifier: MIT
 * Making a body from digests. Several threads take its parts from a shared counter. The checksums
 * of the pages are combined in order at the end. */
#include "build/fill.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "build/deferred.h"
#include "build/digests.h"
#include "build/distinct.h"
#include "build/runs.h"
#include "build/solver.h"
#include "format/checksum.h"
#include "format/min.h"
#include "format/probe.h"
#include "image/body.h"
#include "kernel/dispatch.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/thread.h"

#define SLICES_LOG 6 /* threads that defer positions take 2^6 slices of the range of digests */

/* On ext4 (Linux 6.16) and XFS the page cache allocates a folio as large as the aligned write that
 * fills it, and maps folios of 2 MiB as huge pages. Faulting in such a file takes 22 ns a page;
 * after writes of 256 KiB that are not so aligned, 162 ns (bench/results/verify.md). */
#define WRITE_BEST ((size_t)2 << 20)

struct fill {
    const struct header *h;
    const struct runs *runs;
    const struct kernel *kernel;
    struct geometry g;
    uint64_t units; /* units of the whole filter, even if the body is a slice */
    struct digest_range spread;
    struct parts parts;
    uint8_t *body;
    int fd;
    uint8_t *table;
    bool gathers;               /* parts are gathered, to write WRITE_BEST bytes in one call */
    uint64_t step;              /* consecutive parts that a thread takes in one step */
    struct deferred *deferred;  /* NULL if each part reads the digests */
    uint64_t begin, end;        /* parts of the window, or all parts: begin to end - 1 */
    atomic_uint_least64_t next; /* next part to make, or next slice of digests to defer */
    bool each_once;             /* digests must be distinct, for their count or for counters */
    atomic_uint_least64_t n, ones, overflow;
    atomic_uint_least64_t sum; /* sum of the digests read from a file */
    atomic_int error;
};

/* A thread of the team. */
struct worker {
    struct fill *fill;
    struct reader *reader;
    struct solver *solver; /* for layouts that are solved */
    uint32_t *positions;   /* room for positions read back */
    uint64_t *own;         /* for a slice: room for digests mapped back to their own range */
    struct deferred_writer *writer;
    uint8_t *room;        /* gathered parts, then the current part; NULL: parts are made in place */
    size_t gathered;      /* bytes of parts at `room` that are not yet written */
    uint64_t at;          /* the offset of these bytes in the file */
    uint8_t *bytes;       /* the part */
    uint64_t first, last; /* units of the part: first to last - 1 */
    uint64_t added;       /* number of digests added; if each_once, of distinct digests */
    int memory_error;     /* ENOMEM if the part's digests do not fit in memory */
    bool sieve;           /* sieve before adding: too many digests of the part set no bit... */
    bool many_repeat;     /* ...because many are repeated, probably in all parts */
    struct kernel_tally tally;
};

static void add_piece(struct worker *w, const struct reader_piece *piece, struct kernel_idle *idle)
{
    const struct fill *f = w->fill;
    f->kernel->add_part(w->bytes, w->first, w->last, f->units, f->h->k, piece->digests, piece->n,
                        idle);
}

/* Adds all digests, then counts repeated digests among those that set no bit: only they can be
 * repeated. If they are few, this is cheaper than a sieve before the adds: building from 10^7
 * distinct digests takes 6.1 ns a key, with a sieve 8.0. */
static void add_and_count(struct worker *w, struct reader_piece *piece)
{
    struct kernel_idle idle = { .digests = piece->memory, .most = distinct_suspects(piece->n) };
    add_piece(w, piece, &idle);
    w->added += piece->n;
    w->sieve = idle.count > idle.most;
    const size_t repeated =
        w->sieve ? piece->n - distinct(piece->own, piece->n, piece->memory)
                 : distinct_repetitions(piece->own, piece->n, idle.count, piece->memory);
    w->many_repeat |= repeated > idle.most;
    w->added -= repeated;
}

/* Maps the spread digests of a slice back to their own range (digests.h). */
static void gather_own(const struct worker *w, struct reader_piece *piece)
{
    uint64_t *to = piece->own != NULL ? piece->own : w->own;
    for (size_t i = 0; i < piece->n; i++)
        to[i] = digest_range_back(&w->fill->spread, piece->digests[i]);
    piece->digests = to;
}

static void collect(struct worker *w, struct reader_piece *piece)
{
    reader_make_distinct(piece);
    if (w->memory_error == 0)
        w->memory_error = solver_take(w->solver, piece->digests, piece->n);
    w->added += piece->n;
}

static void add(void *context, struct reader_piece *piece)
{
    struct worker *w = context;
    const struct fill *f = w->fill;
    if (w->own != NULL)
        gather_own(w, piece);
    if (w->solver != NULL) {
        collect(w, piece);
        return;
    }
    if (f->each_once && piece->own != NULL && f->kernel->density == KERNEL_LOCAL && !w->sieve) {
        add_and_count(w, piece);
        return;
    }
    if (f->each_once)
        reader_make_distinct(piece);
    add_piece(w, piece, NULL);
    w->added += piece->n;
}

/* Adds keys to the part that begins at byte `start` of the body and uses `size` bytes. */
static int add_keys(struct worker *w, uint64_t start, size_t size)
{
    const struct fill *f = w->fill;
    const bool local = layout_is_local(f->h->layout);
    const uint64_t end = f->h->first_block + f->g.units;
    w->first = f->h->first_block + geometry_units_in(f->h->layout, start);
    w->last = w->first + geometry_units_in(f->h->layout, size);
    if (w->last > end)
        w->last = end;
    uint64_t first = local ? probe_least_digest(w->first, f->units) : 0;
    uint64_t last = local ? probe_last_digest(w->last, f->units) : UINT64_MAX;
    if (header_is_slice(f->h)) {
        first = digest_range_digest(&f->spread, first);
        last = digest_range_last(&f->spread, last);
    }
    return reader_read(w->reader, first, last, add, w);
}

static void put(void *context, const uint32_t *positions, size_t n)
{
    struct worker *w = context;
    w->fill->kernel->put(w->bytes, positions, n);
}

/* Adds the positions that were deferred for a part. */
static int add_positions(struct worker *w, uint64_t number)
{
    const struct fill *f = w->fill;
    return deferred_read(f->deferred, (size_t)(number - f->begin), w->positions, put, w);
}

/* Collects the digests of the part, then solves its pages. */
static int solve_keys(struct worker *w, uint64_t start, size_t size)
{
    w->memory_error = 0;
    solver_start(w->solver, start / CHECKSUM_PAGE, w->fill->g.units);
    int error = add_keys(w, start, size);
    if (error == 0)
        error = w->memory_error;
    return error != 0 ? error : solver_make(w->solver, w->bytes, (size_t)checksum_pages(size));
}

/* Adds the keys of a part, in every layout. */
static int take_keys(struct worker *w, uint64_t number, uint64_t start, size_t size)
{
    if (w->solver != NULL)
        return solve_keys(w, start, size);
    return w->fill->deferred != NULL ? add_positions(w, number) : add_keys(w, start, size);
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

/* Writes the first `size` gathered bytes, and moves the rest to the start of `room`. */
static int write_gathered(struct worker *w, size_t size)
{
    if (size == 0)
        return 0;
    const int error = file_write(w->fill->fd, w->at, w->room, size);
    w->gathered -= size;
    w->at += size;
    memmove(w->room, w->room + size, w->gathered);
    return error;
}

/* Takes the part after the gathered bytes at `room`. Writes everything, or if parts are gathered,
 * up to the last multiple of WRITE_BEST in the file. */
static int gather(struct worker *w, size_t size)
{
    w->gathered += size;
    const uint64_t end = w->at + w->gathered, edge = end - end % WRITE_BEST;
    if (!w->fill->gathers)
        return write_gathered(w, w->gathered);
    return edge > w->at ? write_gathered(w, (size_t)(edge - w->at)) : 0;
}

static int make_part(struct worker *w, uint64_t number)
{
    struct fill *f = w->fill;
    const size_t part = f->parts.size;
    uint64_t start = number * part, rest = f->g.body_size - start, used = f->g.need - start;
    size_t size = rest < part ? (size_t)rest : part;
    size_t in_use = used < size ? (size_t)used : size;
    w->bytes = memset(f->body != NULL ? f->body + start : w->room + w->gathered, 0, size);
    w->added = 0;
    w->sieve = w->many_repeat;
    int error = take_keys(w, number, start, in_use);
    if (error != 0)
        return error;
    f->kernel->count(w->bytes, in_use, &w->tally);
    sum_pages(w, start, size);
    if (layout_is_local(f->h->layout) || number == 0)
        atomic_fetch_add(&f->n, w->added);
    return f->body != NULL ? 0 : gather(w, size);
}

/* Makes the parts of one step, beginning with `first`. */
static int make_several(struct worker *w, uint64_t first)
{
    struct fill *f = w->fill;
    const uint64_t end = MIN(first + f->step, f->end);
    const uint64_t at = f->h->body_offset + first * f->parts.size;
    int error = w->at + w->gathered != at ? write_gathered(w, w->gathered) : 0;
    if (w->gathered == 0)
        w->at = at;
    for (uint64_t number = first; error == 0 && number < end; number++) {
        error = atomic_load(&f->error) == 0 ? cancel_wanted() : f->error;
        if (error == 0)
            error = make_part(w, number);
    }
    return error;
}

static uint8_t *new_room(const struct fill *f)
{
    return f->gathers ? hugepages_alloc(f->parts.size + WRITE_BEST) : malloc(f->parts.size);
}

static int get_ready(struct worker *w)
{
    const struct fill *f = w->fill;
    if (f->deferred != NULL && (w->positions = malloc(DEFERRED_EXTENT)) == NULL)
        return ENOMEM;
    if (f->body == NULL && (w->room = new_room(f)) == NULL)
        return ENOMEM;
    if (f->kernel->solve != NULL &&
        solver_new(&w->solver, f->kernel, f->parts.size / CHECKSUM_PAGE) != 0)
        return ENOMEM;
    int error = f->deferred != NULL ? 0 : reader_new(&w->reader, f->runs, f->parts.room);
    if (error == 0 && header_is_slice(f->h))
        w->own = malloc(reader_most(w->reader) * sizeof *w->own);
    return header_is_slice(f->h) && w->own == NULL ? ENOMEM : error;
}

static void release(struct worker *w, int error)
{
    struct fill *f = w->fill;
    if (error != 0)
        atomic_store(&f->error, error);
    atomic_fetch_add(&f->ones, w->tally.ones);
    atomic_fetch_add(&f->overflow, w->tally.overflow);
    atomic_fetch_add(&f->sum, w->reader != NULL ? reader_sum(w->reader) : 0);
    free(w->positions);
    free(w->own);
    free(w->room);
    reader_free(w->reader);
    solver_free(w->solver);
}

static void make_parts(void *context)
{
    struct fill *f = context;
    struct worker w = { .fill = f };
    int error = get_ready(&w);
    while (error == 0) {
        uint64_t first = atomic_fetch_add(&f->next, f->step);
        if (first >= f->end)
            break;
        error = make_several(&w, first);
    }
    if (error == 0)
        error = write_gathered(&w, w.gathered);
    release(&w, error);
}

/* ---- with deferred positions */

static void defer_piece(void *context, struct reader_piece *piece)
{
    struct worker *w = context;
    if (w->fill->each_once)
        reader_make_distinct(piece);
    deferred_add(w->writer, piece->digests, piece->n);
    w->added += piece->n;
}

static void defer_slices(void *context)
{
    struct fill *f = context;
    struct worker w = { .fill = f };
    const unsigned log = f->parts.threads > 1 ? SLICES_LOG : 0;
    int error = reader_new(&w.reader, f->runs, f->parts.room);
    if (error == 0)
        error = deferred_writer_new(&w.writer, f->deferred);
    while (error == 0 && atomic_load(&f->error) == 0 && (error = cancel_wanted()) == 0) {
        uint64_t slice = atomic_fetch_add(&f->next, 1);
        if (slice >> log != 0)
            break;
        uint64_t first = log > 0 ? slice << (64 - log) : 0;
        error = reader_read(w.reader, first, first + (UINT64_MAX >> log), defer_piece, &w);
    }
    if (error == 0)
        error = deferred_end(w.writer);
    if (f->begin == 0)
        atomic_fetch_add(&f->n, w.added);
    deferred_writer_free(w.writer);
    release(&w, error);
}

static int make_window(struct fill *f)
{
    deferred_start(f->deferred, f->begin << f->parts.shift);
    f->next = 0;
    team_run(f->parts.threads, defer_slices, f);
    f->next = f->begin;
    if (f->error == 0)
        team_run(f->parts.threads, make_parts, f);
    return f->error;
}

static int make_windows(struct fill *f, const char *folder)
{
    const struct deferred_plan plan = { .folder = folder,
                                        .k = f->h->k,
                                        .units = f->g.units,
                                        .shift = f->parts.shift,
                                        .parts = (size_t)f->parts.window,
                                        .buffer = f->parts.buffer };
    int error = deferred_new(&f->deferred, &plan);
    for (; error == 0 && f->begin < f->parts.count; f->begin = f->end) {
        f->end = f->begin + f->parts.window;
        if (f->end > f->parts.count)
            f->end = f->parts.count;
        error = make_window(f);
    }
    deferred_free(f->deferred);
    return error;
}

/* Combines the checksums of the pages. */
static void sum_up(struct header *h, const struct fill *f)
{
    struct checksum_sum sum = { 0 };
    for (uint64_t page = 0; page < f->g.pages; page++)
        checksum_append(&sum, get32(f->table + 4 * page), checksum_page_size(f->g.body_size, page));
    image_record(&h->record, sum.crc,
                 &(struct kernel_tally){ .ones = f->ones, .overflow = f->overflow });
}

/* The number of passes over all digests. */
static uint64_t passes(const struct fill *f)
{
    if (layout_is_local(f->h->layout))
        return 1;
    const uint64_t window = f->parts.window;
    return window > 0 ? (f->parts.count + window - 1) / window : f->parts.count;
}

/* Gathers parts if there is memory for it, and if there are enough parts for each thread. */
static void plan_writes(struct fill *f, const struct fill_plan *plan)
{
    const struct parts *p = &f->parts;
    const bool has_memory = plan->part == 0 || plan->part >= 8 * WRITE_BEST;
    const uint64_t step = 4 * WRITE_BEST / p->size;
    const uint64_t least = p->threads > 1 ? 4 * step * p->threads : step;
    f->gathers = f->body == NULL && has_memory && p->window == 0 && step > 4 && p->count >= least;
    f->step = f->gathers ? step : 1;
}

int fill_body(struct header *h, const struct runs *runs, const struct fill_plan *plan,
              uint8_t *body, int fd, uint8_t *table, uint64_t *n)
{
    struct fill f = {
        .h = h,
        .runs = runs,
        .kernel = kernel_for(h->layout),
        .g = geometry_of(h->layout, h->m, h->header_size),
        .parts = parts_plan(h, runs->held, plan, body != NULL),
        .units = header_range(h),
        .spread = digest_range_of(h),
        .body = body,
        .fd = fd,
        .table = table,
        .each_once = !runs->counted || layout_of(h->layout)->counts,
    };
    int error = 0;
    plan_writes(&f, plan);
    if (f.parts.window > 0) {
        error = make_windows(&f, plan->folder);
    } else {
        f.end = f.parts.count;
        team_run(f.parts.threads, make_parts, &f);
        error = f.error;
    }
    if (error != 0)
        return error;
    if (f.sum != runs->sum * passes(&f))
        return EIO;
    sum_up(h, &f);
    *n = runs->counted ? runs->keys : f.n;
    return 0;
}
